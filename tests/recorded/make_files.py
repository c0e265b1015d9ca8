"""Write ``files.tar.gz``: one file of every format as this version writes it, and what they hold.

Run once per version whose files must stay readable, from the root of the repository::

    python tests/recorded/make_files.py tests/recorded/files.tar.gz
"""

from __future__ import annotations

import json
import os
import sys
import tarfile
import tempfile
import warnings
from pathlib import Path
from typing import Any

import mechdesign as md

LABELS = ["a", "b", "c"]
PRIOR = md.Prior([0.5, 0.3, 0.2], labels=LABELS)
ROWS = 60


def designs() -> dict[str, Any]:
    """Designs of every kind of notion and utility."""
    hamming, bits = md.utility.Hamming(), md.utility.MutualInformation()
    secrets = {"s": ["a"], "t": ["b", "c"]}
    grid = md.Prior.uniform(range(4))
    pairs = md.Prior.uniform([(0, 0), (0, 1), (1, 0), (1, 1)])
    feature = {"a": 0, "b": 0, "c": 1}
    other = md.Prior([0.4, 0.4, 0.2], labels=LABELS)
    found: dict[str, Any] = {
        "two": (PRIOR, hamming, [md.PML(0.5), md.LDP(1.0)]),
        "information": (PRIOR, bits, md.LDP(1.0)),
        "chi-square": (PRIOR, md.utility.ChiSquare(), md.PML(0.3)),
        "variation": (PRIOR, md.utility.TotalVariation(), md.ALIP(0.5, 0.9)),
        "matrix": (PRIOR, md.utility.Matrix([[1, 0, 0.5], [0, 1, 0.2], [0, 0.3, 1]]), md.LIP(0.7)),
        "zero-mass": (md.Prior([0.5, 0.5, 0], labels=LABELS), hamming, md.LDP(0.5)),
        "adjacent": (grid, md.utility.Distance("absolute"), md.DP(1.0, "adjacent")),
        "metric": (grid, md.utility.Distance("squared"), md.MetricPrivacy(1.0, "absolute")),
        "entries": (grid, hamming, md.EntryPML(0.1, 3, 0.3)),
        "pufferfish": (PRIOR, hamming, md.Pufferfish(0.5, secrets)),
        "approximate-pufferfish": (PRIOR, hamming, md.ApproximatePufferfish(0.5, 1e-3, secrets)),
        "robust": (PRIOR, hamming, md.RobustPML(0.4, [PRIOR, other])),
        "free-lunch": (pairs, hamming, md.FreeLunch(0.4)),
        "feature": (PRIOR, hamming, md.FeaturePML(0.4, feature)),
        "feature-cost": (PRIOR, hamming, md.FeaturePMC(0.4, feature)),
        "conditional": (PRIOR, hamming, md.ConditionalPML(0.4, feature)),
        "approximate": (PRIOR, hamming, md.ApproximateLDP(1.0, 1e-3)),
        "maximal": (PRIOR, hamming, md.MaximalLeakage(0.7)),
        "maximal-cost": (PRIOR, hamming, md.MaximalCostLeakage(0.7)),
        "average": (PRIOR, hamming, md.MIPrivacy(0.2)),
    }
    return {name: md.design(*asked) for name, asked in found.items()}


def shown(item: Any) -> dict[str, Any]:
    """What is read from a saved design or mechanism."""
    mechanism = getattr(item, "mechanism", item)
    found: dict[str, Any] = {
        "kind": type(item).__name__,
        "kernel": mechanism.kernel.tolist(),
        "outputs": [str(label) for label in mechanism.outputs],
    }
    for name in ("value", "bound", "gap", "method"):
        if hasattr(item, name):
            found[name] = getattr(item, name)
    found["notions"] = [notion.title for notion in getattr(item, "notions", ())]
    return found


def compared(folder: str) -> list[list[Any]]:
    """What a comparison finds that keeps its designs in a folder."""
    hamming = md.utility.Hamming()
    found = md.compare(PRIOR, hamming, ["pml", "ldp"], [0.2, 1.0], resume=folder)
    return [[point.notion, point.target, point.value, point.bound] for point in found.points]


def write() -> None:
    """All files into the folder of the process, and ``contents.json``."""
    found = designs()
    for name, item in found.items():
        md.save(item, f"design-{name}.json")
    item = found["information"]
    md.save(item, "public.json", public=True)
    md.save(item.mechanism, "mechanism.json")
    md.release_key("release.key")
    secrets = "".join(f"{i},{LABELS[i * i % 7 % 3]}\n" for i in range(ROWS))
    Path("people.csv").write_text("id,x\n" + secrets, encoding="utf-8")
    key = md.release_key("release.key")
    ledger = Path("ledger.json")
    md.privatize_file("people.csv", "reports.csv", "x", item, row="id", key=key, ledger=ledger)
    estimate = md.estimate(_reports(), item, receipt="reports.csv.receipt.json")
    contents = {
        "items": {p.name: shown(md.load(p)) for p in sorted(Path().glob("*.json")) if _saved(p)},
        "key": key.fingerprint,
        "comparison": compared("comparison"),
        "estimate": estimate.values.tolist(),
    }
    text = json.dumps(contents, indent=0, sort_keys=True, ensure_ascii=False)
    Path("contents.json").write_text(text + "\n", encoding="utf-8")


def _saved(path: Path) -> bool:
    return path.name.startswith(("design-", "public", "mechanism"))


def _reports() -> list[str]:
    lines = Path("reports.csv").read_text(encoding="utf-8").splitlines()
    return [line.split(",")[1] for line in lines[1:]]


if __name__ == "__main__":
    target = Path(sys.argv[1]).absolute()
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        os.chdir(folder)
        # The head of the ledger is kept beside the user's own ledger: here, the one below.
        os.environ["MECHDESIGN_LEDGER"] = str(Path(folder, "own", "ledger.jsonl"))
        write()
        with tarfile.open(target, "w:gz") as archive:
            for path in sorted(Path().iterdir()):
                archive.add(path)
        os.chdir("/")
