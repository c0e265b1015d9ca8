"""Proofs that nothing does what is asked, evaluated afresh in rationals from their dual variables.

With η the dual variables of limits and w_y columns with ⟨w_y, k⟩ ≤ 0 on the cone, every kernel has
0 ≤ Σ_j (η_j⁺ high_j − η_j⁻ low_j) − Σ_xy (w_xy + Σ_j η_j a_jxy) K_xy, and the right side is at most
its maximum over rows. Where that is negative there is no kernel. Pairs of hypotheses and limits of
a proof are looked up among those that plain numbers give.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from exact_program import DIGITS
from plain_check import exp_between, pairs_of, rays_of
from plain_requirements import Case

from mechdesign.exact import level_bounds

Table = list[list[Fraction]]


def largest(case: Case, proof: Any) -> Fraction:
    """What is proved of a utility that is zero, at most; raises where parts are not what was asked.

    For notions that are bounds on likelihood ratios, with hypotheses that are listed.
    """
    limits, constant = priced_limits(case, proof)
    allowed = allowed_entries(case)
    found = [of_rows(constant, limits, allowed)]
    if proof.duals.multipliers is not None:
        columns = priced_cone(case, proof)
        both = [
            [a + b for a, b in zip(*rows, strict=True)]
            for rows in zip(limits, columns, strict=True)
        ]
        found.append(of_rows(constant, both, allowed))
    if min(found) >= 0 and proof.duals.prices is not None:
        found.append(of_prices(case, proof, constant, limits, allowed))
    return min(found)


def of_rows(constant: Fraction, taken: Table, allowed: list[list[bool]]) -> Fraction:
    """The maximum of each row over its allowed entries; far below zero where there are none."""
    total = constant
    for row, kept in zip(taken, allowed, strict=True):
        if not any(kept):
            return Fraction(-(10**9))
        total += max(-v for v, keep in zip(row, kept, strict=True) if keep)
    return total


def priced_limits(case: Case, proof: Any) -> tuple[Table, Fraction]:
    """Σ_j η_j a_j and Σ_j (η_j⁺ high_j − η_j⁻ low_j)."""
    n, m = case.shape
    known = {
        (frozenset((e, a) for e, a in row.entries.items() if a), row.low, row.high)
        for row in case.rows
    }
    table = [[Fraction(0)] * m for _ in range(n)]
    constant = Fraction(0)
    numbers = proof.duals.limits
    for j, limit in enumerate(proof.problem.program.limits):
        entries: dict[tuple[int, int], Fraction] = {}
        for x, y, v in zip(limit.symbols, limit.outputs, limit.values.tolist(), strict=True):
            scale = Fraction(1) if limit.factors is None else limit.factors[x]
            entries[int(x), int(y)] = entries.get((int(x), int(y)), Fraction(0)) + scale * Fraction(
                v
            )
        assert (frozenset(entries.items()), limit.low, limit.high) in known, limit.label
        eta = Fraction(0) if numbers is None else Fraction(float(numbers[j]))
        end = limit.high if eta > 0 else limit.low
        if eta and end is not None:
            constant += eta * end
            for (x, y), a in entries.items():
                table[x][y] += eta * a
    return table, constant


def priced_cone(case: Case, proof: Any) -> Table:
    """Columns w_y with ⟨w_y, k⟩ ≤ 0 on the cone."""
    n, m = case.shape
    p = list(case.masses)
    known: dict[Any, Fraction] = {}
    for asked in case.asked:
        for over, under, level in pairs_of(asked, p) or ():
            key = tuple(over), tuple(under)
            known[key] = min(level, known.get(key, level))
    table = [[Fraction(0)] * m for _ in range(n)]
    for part, given in zip(proof.problem.program.cone.parts, proof.duals.multipliers, strict=True):
        numbers = [
            [[max(Fraction(float(v)), Fraction(0)) for v in row] for row in block]
            for block in given
        ]
        for i, group in enumerate(part.groups()):
            overs = [_masses(mu, n) for mu in group.over]
            unders = [_masses(nu, n) for nu in group.under]
            factor = exp_between(group.level, DIGITS)[1] if group.level else Fraction(1)
            for mu in overs:
                for nu in unders:
                    assert is_asked(case, known, mu, nu, group.level), "a pair that nobody asked"
            matched = len(numbers) == 1
            for y in range(m):
                if matched:
                    a, b = [numbers[0][i][y]], [factor * numbers[0][i][y]]
                else:
                    a, b = [row[y] for row in numbers[0]], [row[y] for row in numbers[1]]
                    need = factor * sum(a)
                    if need > 0:
                        share = min(Fraction(1), sum(b) / need)
                        a = [share * v for v in a]
                for weight, mu in zip(a, overs, strict=True):
                    for x in range(n):
                        table[x][y] += weight * mu[x]
                for weight, nu in zip(b, unders, strict=True):
                    for x in range(n):
                        table[x][y] -= weight * nu[x]
    return table


def is_asked(
    case: Case, known: dict[Any, Fraction], mu: list[Fraction], nu: list[Fraction], level: Fraction
) -> bool:
    """Whether μᵀk ≤ e^level νᵀk follows from what was asked at one outcome."""
    least = known.get((tuple(mu), tuple(nu)))
    if mu == nu or (least is not None and _at_most(least, level)):
        return True
    # A row a⁺ k ≤ a⁻ k of a requirement on every outcome, as a ratio of its two sides.
    for a in of_every_output(case):
        plus, minus = sum(v for v in a if v > 0), -sum(v for v in a if v < 0)
        sides = [max(v, 0) / plus for v in a], [max(-v, 0) / minus for v in a]
        if (mu, nu) == sides:
            return exp_between(level, DIGITS)[1] * plus >= minus * (1 - Fraction(1, 10**12))
    return False


def of_every_output(case: Case) -> list[list[Fraction]]:
    """Rows a with a·k ≤ 0 at every outcome, from requirements."""
    n, _ = case.shape
    return [
        [wish.rows[0].entries.get((x, 0), Fraction(0)) for x in range(n)]
        for wish in case.wishes
        if wish.name == "every output"
    ]


def of_prices(
    case: Case, proof: Any, constant: Fraction, limits: Table, allowed: list[list[bool]]
) -> Fraction:
    """Σ λ + max_y sup{⟨−λ − Σ η a_y, k⟩ : k in the cone, pᵀk = 1}, over its extreme rays."""
    n, m = case.shape
    p = list(case.masses)
    prices = [Fraction(float(v)) for v in proof.duals.prices]
    rows = [[Fraction(int(i == x)) for i in range(n)] for x in range(n)]
    for asked in case.asked:
        for over, under, level in pairs_of(asked, p) or ():
            factor = exp_between(level, DIGITS)[1] if level else Fraction(1)
            rows.append([factor * b - a for a, b in zip(over, under, strict=True)])
    rows += [[-a for a in row] for row in of_every_output(case)]
    rays = rays_of(rows, n)
    best: Fraction | None = None
    for y in range(m):
        for ray in rays:
            if any(v and not allowed[x][y] for x, v in enumerate(ray)):
                continue
            mass = sum(a * v for a, v in zip(p, ray, strict=True))
            value = -sum((prices[x] + limits[x][y]) * ray[x] for x in range(n)) / mass
            best = value if best is None else max(best, value)
    return constant + sum(prices) + (best or Fraction(0))


def allowed_entries(case: Case) -> list[list[bool]]:
    """Entries that may be positive: not forbidden, nor tied at any level to one that is."""
    n, m = case.shape
    allowed = [[True] * m for _ in range(n)]
    for row in case.rows:
        if row.high == 0 and all(a >= 0 for a in row.entries.values()):
            for (x, y), a in row.entries.items():
                allowed[x][y] = allowed[x][y] and a == 0
    pairs = [
        (over, under)
        for asked in case.asked
        for over, under, _ in pairs_of(asked, list(case.masses)) or ()
    ]
    pairs += [
        ([max(a, 0) for a in row], [max(-a, 0) for a in row]) for row in of_every_output(case)
    ]
    changed = True
    while changed:
        changed = False
        for over, under in pairs:
            for y in range(m):
                if not any(b and allowed[x][y] for x, b in enumerate(under)):
                    for x, a in enumerate(over):
                        if a and allowed[x][y]:
                            allowed[x][y], changed = False, True
    return allowed


def _masses(distribution: Any, n: int) -> list[Fraction]:
    found = [Fraction(0)] * n
    for x, mass in zip(distribution.support, distribution.masses, strict=True):
        found[x] = mass
    return found


def _at_most(least: Any, level: Any) -> bool:
    """Whether a level is at most another, by rationals around logarithms."""
    return level_bounds(least)[0] <= level_bounds(level)[1]
