"""The starter: three tiny text-to-image systems with a planted bias, and the small models that describe their images.

`python -m backend.starter train` makes all of assets/starter from one openly licensed set of drawn portraits.
"""
