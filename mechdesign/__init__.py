"""mechdesign: design, certify and audit optimal privacy mechanisms.

Names are bound on first use, so that importing the package stays fast.

>>> import mechdesign as md
>>> prior = md.Prior([.5, .3, .2], labels=["a", "b", "c"])
>>> found = md.design(prior, md.utility.Hamming(), md.PML(.4))
>>> found.certificate.checks[0].verdict
<Verdict.YES: 'yes'>
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from . import noise as noise
    from . import theory as theory
    from . import utility as utility
    from ._audit import AuditReport as AuditReport
    from ._audit import audit as audit
    from ._compare.frontiers import Comparison as Comparison
    from ._compare.running import compare as compare
    from .errors import MechdesignError as MechdesignError
    from .exact import Verdict as Verdict
    from .mechanism import Mechanism as Mechanism
    from .plotting.estimates import plot_estimate as plot_estimate
    from .plotting.frontiers import plot_frontiers as plot_frontiers
    from .plotting.kernels import plot_kernel as plot_kernel
    from .plotting.leakages import plot_leakage as plot_leakage
    from .plotting.lifts import plot_lifts as plot_lifts
    from .plotting.pml_bands import plot_pml_regions as plot_pml_regions
    from .plotting.prices import plot_binding as plot_binding
    from .plotting.regions import plot_regions as plot_regions
    from .prior import Prior as Prior
    from .privacy import ALIP as ALIP
    from .privacy import DP as DP
    from .privacy import LDP as LDP
    from .privacy import LIP as LIP
    from .privacy import PMC as PMC
    from .privacy import PML as PML
    from .privacy import ApproximateLDP as ApproximateLDP
    from .privacy import ApproximatePufferfish as ApproximatePufferfish
    from .privacy import Bound as Bound
    from .privacy import ConditionalPMC as ConditionalPMC
    from .privacy import ConditionalPML as ConditionalPML
    from .privacy import EntryPML as EntryPML
    from .privacy import FeaturePMC as FeaturePMC
    from .privacy import FeaturePML as FeaturePML
    from .privacy import FreeLunch as FreeLunch
    from .privacy import Hypotheses as Hypotheses
    from .privacy import LikelihoodBound as LikelihoodBound
    from .privacy import MaximalCostLeakage as MaximalCostLeakage
    from .privacy import MaximalLeakage as MaximalLeakage
    from .privacy import MetricPrivacy as MetricPrivacy
    from .privacy import MIPrivacy as MIPrivacy
    from .privacy import MIPufferfish as MIPufferfish
    from .privacy import PrivacyNotion as PrivacyNotion
    from .privacy import Pufferfish as Pufferfish
    from .privacy import RobustPML as RobustPML
    from .privacy.ruling_out import PMLRegions as PMLRegions
    from .privacy.ruling_out import pml_regions as pml_regions
    from .release.accounting import compose as compose
    from .release.encoding import show_values as show_values
    from .release.estimating import Estimate as Estimate
    from .release.estimating import estimate as estimate
    from .release.frames import privatize as privatize
    from .release.identify import identifiability as identifiability
    from .release.joint import estimate_joint as estimate_joint
    from .release.keys import ReleaseKey as ReleaseKey
    from .release.keys import release_key as release_key
    from .release.planning import plan as plan
    from .release.published import PublicDesign as PublicDesign
    from .release.receipts import save_receipt as save_receipt
    from .release.sampler import Sampler as Sampler
    from .releasing import privatize_file as privatize_file
    from .solve._extremal import Extremal as Extremal
    from .solve._extremal import binary_mechanism as binary_mechanism
    from .solve._extremal import extremal as extremal
    from .solve._extremal import randomised_response as randomised_response
    from .solve._extremal import window_mechanism as window_mechanism
    from .solve.designing import Design as Design
    from .solve.designing import design as design
    from .solve.designing import explain as explain
    from .solve.shadow_prices import Binding as Binding
    from .solve.shadow_prices import binding as binding
    from .solve.sweeping import sweep as sweep
    from .storage import load as load
    from .storage import save as save
    from .theory.conversions import convert as convert
    from .theory.conversions import implications as implications
    from .views.review import write_report as write_report

_HOMES = {
    "Prior": "prior",
    "Mechanism": "mechanism",
    "Verdict": "exact",
    "MechdesignError": "errors",
    "PML": "privacy",
    "PMC": "privacy",
    "LIP": "privacy",
    "ALIP": "privacy",
    "LDP": "privacy",
    "DP": "privacy",
    "FreeLunch": "privacy",
    "MetricPrivacy": "privacy",
    "ConditionalPMC": "privacy",
    "ConditionalPML": "privacy",
    "FeaturePMC": "privacy",
    "FeaturePML": "privacy",
    "Pufferfish": "privacy",
    "RobustPML": "privacy",
    "EntryPML": "privacy",
    "ApproximateLDP": "privacy",
    "MaximalCostLeakage": "privacy",
    "MaximalLeakage": "privacy",
    "MIPrivacy": "privacy",
    "MIPufferfish": "privacy",
    "ApproximatePufferfish": "privacy",
    "Bound": "privacy",
    "Hypotheses": "privacy",
    "LikelihoodBound": "privacy",
    "PrivacyNotion": "privacy",
    "Design": "solve.designing",
    "design": "solve.designing",
    "explain": "solve.designing",
    "sweep": "solve.sweeping",
    "binding": "solve.shadow_prices",
    "Binding": "solve.shadow_prices",
    "Extremal": "solve._extremal",
    "extremal": "solve._extremal",
    "randomised_response": "solve._extremal",
    "binary_mechanism": "solve._extremal",
    "window_mechanism": "solve._extremal",
    "PMLRegions": "privacy.ruling_out",
    "pml_regions": "privacy.ruling_out",
    "audit": "_audit",
    "AuditReport": "_audit",
    "compare": "_compare.running",
    "Comparison": "_compare.frontiers",
    "convert": "theory.conversions",
    "implications": "theory.conversions",
    "write_report": "views.review",
    "plot_frontiers": "plotting.frontiers",
    "plot_estimate": "plotting.estimates",
    "plot_kernel": "plotting.kernels",
    "plot_leakage": "plotting.leakages",
    "plot_lifts": "plotting.lifts",
    "plot_pml_regions": "plotting.pml_bands",
    "plot_binding": "plotting.prices",
    "plot_regions": "plotting.regions",
    "Sampler": "release.sampler",
    "show_values": "release.encoding",
    "save_receipt": "release.receipts",
    "PublicDesign": "release.published",
    "privatize": "release.frames",
    "ReleaseKey": "release.keys",
    "release_key": "release.keys",
    "privatize_file": "releasing",
    "compose": "release.accounting",
    "estimate": "release.estimating",
    "Estimate": "release.estimating",
    "estimate_joint": "release.joint",
    "identifiability": "release.identify",
    "plan": "release.planning",
    "save": "storage",
    "load": "storage",
}
_ROOMS = ("utility", "privacy", "theory", "noise", "errors")

__all__ = sorted([*_HOMES, *_ROOMS, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    elif name in _ROOMS:
        value = importlib.import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
