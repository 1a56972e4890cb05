"""A package, so that its tests share one browser in each worker, which ends with the last of them."""
