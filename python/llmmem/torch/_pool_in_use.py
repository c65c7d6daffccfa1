"""Which pool PyTorch allocates from, for those who measure or plan."""

from typing import TYPE_CHECKING, List, Optional

if TYPE_CHECKING:
    from ._pool import Pool

_pools: List["Pool"] = []


def pool_in_use() -> Optional["Pool"]:
    """Returns the pool that PyTorch allocates from, or None."""
    return _pools[0] if _pools else None


def take_in_use(pool: "Pool") -> None:
    _pools.append(pool)
