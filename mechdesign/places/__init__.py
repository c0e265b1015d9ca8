"""What is asked of reports about where somebody was? Places of a map, with their distances.

In: bounds, tables of coordinates, networks of roads, tables of visits.
Out: places with distances in metres; priors, notions and losses that a design takes; remapped
kernels; a design in two levels where there are too many places for one.

>>> import math
>>> import mechdesign as md
>>> town = md.places.grid((59.30, 18.00, 59.36, 18.12), cells=(2, 3))
>>> prior = town.uniform()
>>> found = md.design(prior, town.loss(), town.privacy(math.log(2), within=1000))
>>> round(-found.value)
987
>>> import pandas as pd
>>> visits = pd.DataFrame({"latitude": [59.31], "longitude": [18.05]})
>>> list(md.privatize(visits, found, rng=1).columns)
['latitude', 'longitude']
"""

from ._places import Places, from_csv, from_frame, from_roads, grid, of
from ._two_levels import TwoLevels, metric_level, two_levels
from .loss import PlaceLoss

__all__ = [
    "PlaceLoss",
    "Places",
    "TwoLevels",
    "from_csv",
    "from_frame",
    "from_roads",
    "grid",
    "metric_level",
    "of",
    "two_levels",
]
