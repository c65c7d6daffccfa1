"""PyTorch's caching allocator of CUDA, simulated: which bytes are allocated, and which are reserved, without a GPU.

>>> allocations = [allocate("a", 600), allocate("b", 3 << 20), free("a"), free("b")]
>>> usage = simulate(allocations)
>>> usage.allocated == 1024 + (3 << 20), usage.reserved == (2 << 20) + (20 << 20)
(True, True)

*Allocated* are the bytes of the blocks that tensors have, sizes rounded up (`torch.cuda.max_memory_allocated`). *Reserved* are the bytes of
the segments that were asked of the driver (`torch.cuda.max_memory_reserved`). What lies between is in free blocks.

The rules are those of c10/cuda/CUDACachingAllocator.cpp of PyTorch 2.8 to 2.15, whose functions are named where they are followed:
sizes are multiples of 512; blocks up to 1 MiB are cut from segments of 2 MiB, larger ones below 10 MiB from segments of 20 MiB, and others
have segments of their own, in multiples of 2 MiB. The smallest free block that fits is taken and split; free neighbours are merged. What the
rules leave open is where the driver puts a new segment: here each has a higher address than those before it, so that of free blocks of one size the
older segment's is taken. Blocks that other streams use (`Tensor.record_stream`) are free at once.
"""

import bisect
from dataclasses import dataclass, field
from typing import Dict, Hashable, Iterable, Iterator, List, Optional, Tuple

from ._allocator_settings import Settings

MIN_BLOCK = 512
SMALL_SIZE = 1 << 20  # the largest block of the pool of small ones
SMALL_SEGMENT = 2 << 20
MIN_LARGE_SEGMENT = 10 << 20  # From here on a block has a segment of its own.
SEGMENT_MULTIPLE = 2 << 20
# Of the address range that an expandable segment has for itself where the capacity of the device is not known.
_LARGE_DEVICE = 1 << 40


@dataclass(frozen=True)
class Event:
    """An allocation of `bytes` under the name `key`, or where `bytes` is None the end of that allocation. A name may be used again after
    its end. 0 bytes take nothing."""

    key: Hashable
    bytes: Optional[int] = None
    stream: int = 0


def allocate(key: Hashable, size: int, stream: int = 0) -> Event:
    return Event(key, size, stream)


def free(key: Hashable) -> Event:
    return Event(key)


@dataclass(frozen=True)
class Usage:
    """What a sequence of allocations takes. allocated, reserved: the peaks. allocated_at, reserved_at: numbers of the events at which each is
    first reached. allocated_end, reserved_end: after the last event. segments: asked of the driver. timeline: (allocated, reserved) after each
    event, where that was asked for."""

    allocated: int
    reserved: int
    allocated_at: int
    reserved_at: int
    allocated_end: int
    reserved_end: int
    segments: int
    timeline: Tuple[Tuple[int, int], ...] = ()

    @property
    def fragmentation(self) -> float:
        """Returns how much more is reserved than allocated at the peaks, as a part of what is allocated."""
        return self.reserved / max(self.allocated, 1) - 1


class OutOfMemory(Exception):
    """Raised where an allocation is above what the process may reserve. requested, allocated, reserved: bytes, the latter two before it."""

    def __init__(self, requested: int, allocated: int, reserved: int, allowed: int) -> None:
        super().__init__(f"the caching allocator would run out of memory: {requested:,} bytes were asked for, {allowed:,} may be reserved, "
                         f"{reserved:,} are, of which {allocated:,} are allocated")
        self.requested, self.allocated, self.reserved = requested, allocated, reserved


def simulate(events: Iterable[Event], settings: Settings = Settings(), timeline: bool = False) -> Usage:
    """Returns what the caching allocator holds while it serves `events` in their order, beginning empty.

    timeline: whether to return what is held after each event as well. Raises OutOfMemory where an allocation does not fit the capacity, and
    ValueError where an event ends what has not begun, or begins what has not ended.
    """
    return CachingAllocator(settings).run(events, timeline)


@dataclass(eq=False)
class Block:
    """A part of a segment. before, after: its neighbours there. is_mapped: whether the driver has given memory for it. born: of its pool's
    searches, how many had been when it was freed. expandable: of the segment that it is a part of, by what this grows; 0 for one that does
    not."""

    address: int
    size: int
    stream: int
    pool: "Pool"
    expandable: int = 0
    is_free: bool = True
    is_mapped: bool = True
    born: int = 0
    before: Optional["Block"] = None
    after: Optional["Block"] = None

    @property
    def is_split(self) -> bool:
        return self.before is not None or self.after is not None

    def insert_after(self, block: "Block") -> None:
        """Makes `block` the next neighbour of this one."""
        block.before, block.after = self, self.after
        if self.after:
            self.after.before = block
        self.after = block


@dataclass(eq=False)
class Pool:
    """The free blocks of small or of large sizes. free: (stream, size, address, block), sorted. unmapped: (stream, address, block), sorted."""

    is_small: bool
    free: List[Tuple[int, int, int, Block]] = field(default_factory=list)
    unmapped: List[Tuple[int, int, Block]] = field(default_factory=list)
    searches: int = 0

    def add(self, block: Block) -> None:
        block.born = self.searches
        bisect.insort(self.free, (block.stream, block.size, block.address, block))

    def remove(self, block: Block) -> None:
        del self.free[bisect.bisect_left(self.free, (block.stream, block.size, block.address))]

    def add_unmapped(self, block: Block) -> None:
        bisect.insort(self.unmapped, (block.stream, block.address, block))

    def remove_unmapped(self, block: Block) -> None:
        del self.unmapped[bisect.bisect_left(self.unmapped, (block.stream, block.address))]


class CachingAllocator:
    """The state of the allocator. allocated, reserved: bytes now. settings: may be replaced between allocations, as PyTorch's may.
    segments: how often the driver was asked."""

    def __init__(self, settings: Settings = Settings()) -> None:
        self.settings = settings
        self.allocated = self.reserved = self.segments = 0
        self._small, self._large = Pool(True), Pool(False)
        self._next_address = 0

    def run(self, events: Iterable[Event], timeline: bool = False) -> Usage:
        """Serves `events`, whose names are of this run alone, and returns the peaks from here on. See `simulate`."""
        blocks: Dict[Hashable, Optional[Block]] = {}
        allocated, reserved, allocated_at, reserved_at = self.allocated, self.reserved, 0, 0
        history: List[Tuple[int, int]] = []
        for number, event in enumerate(events):
            if event.bytes is None:
                if event.key not in blocks:
                    raise ValueError(f"event {number} ends {event.key!r}, which is not allocated")
                block = blocks.pop(event.key)
                if block:
                    self.free(block)
            elif event.key in blocks:
                raise ValueError(f"event {number} allocates {event.key!r}, which is allocated already")
            else:
                blocks[event.key] = self.allocate(event.bytes, event.stream) if event.bytes else None
            if self.allocated > allocated:
                allocated, allocated_at = self.allocated, number
            if self.reserved > reserved:
                reserved, reserved_at = self.reserved, number
            if timeline:
                history.append((self.allocated, self.reserved))
        return Usage(allocated, reserved, allocated_at, reserved_at, self.allocated, self.reserved, self.segments, tuple(history))

    def allocate(self, size: int, stream: int = 0) -> Block:
        """Returns a block of at least `size` bytes, as DeviceCachingAllocator::malloc does. Raises OutOfMemory."""
        rounded = round_size(size, self.settings)
        pool = self._small if rounded <= SMALL_SIZE else self._large
        block = self._find(pool, rounded, stream) or self._grow(pool, rounded, stream)
        if self._should_split(block, rounded):
            rest = Block(block.address + rounded, block.size - rounded, stream, pool, block.expandable)
            block.size = rounded
            block.insert_after(rest)
            pool.add(rest)
        block.is_free = False
        self.allocated += block.size
        return block

    def free(self, block: Block) -> None:
        """Ends an allocation, as free_block does."""
        self.allocated -= block.size
        block.is_free = True
        self._merge(block, block.before)
        self._merge(block, block.after)
        block.pool.add(block)

    def empty_cache(self) -> None:
        """Returns to the driver what can be returned, as torch.cuda.empty_cache does (release_cached_blocks)."""
        for pool in (self._large, self._small):
            blocks = [entry[3] for entry in pool.free]
            for block in blocks:
                if not block.expandable and not block.is_split:
                    self._release(block)
            for block in blocks:
                if block.expandable:
                    self._unmap(block)

    def _find(self, pool: Pool, size: int, stream: int) -> Optional[Block]:
        """Takes the smallest free block that fits, as get_free_block does."""
        settings = self.settings
        if settings.collects:
            pool.searches += 1
        found = self._best(pool, size, stream)
        if found is None:
            return None
        limit = settings.max_split_size
        if limit is not None and (size < limit <= found.size or
                                  size >= limit and found.size >= size + settings.max_non_split_rounding):
            return None
        pool.remove(found)
        return found

    def _best(self, pool: Pool, size: int, stream: int) -> Optional[Block]:
        candidates = self._from(pool, size, stream)
        best = next(candidates, None)
        if best is None or not best.expandable:
            return best
        if not self.settings.expandable_segments:
            return next((block for block in candidates if not block.expandable), None)
        # The end of a segment can grow, and is as large as it can become.
        for block in candidates:
            if not best.expandable or _possible_size(block) >= _possible_size(best):
                break
            best = block
        return best

    @staticmethod
    def _from(pool: Pool, size: int, stream: int) -> Iterator[Block]:
        """Gives the stream's free blocks of at least `size` bytes, in ascending order."""
        for entry in pool.free[bisect.bisect_left(pool.free, (stream, size)):]:
            if entry[0] != stream:
                return
            yield entry[3]

    def _should_split(self, block: Block, size: int) -> bool:
        rest = block.size - size
        if block.pool.is_small or self.settings.expandable_segments:
            return rest >= MIN_BLOCK
        limit = self.settings.max_split_size
        return (limit is None or size < limit) and rest > SMALL_SIZE

    def _grow(self, pool: Pool, size: int, stream: int) -> Block:
        """Asks the driver, and gives it back what is free where it has nothing left, as malloc and alloc_block do."""
        if self.settings.collects:
            self._collect_old()
        block = self._ask(pool, size, stream)
        if block is None and self._release_oversized(pool, size, stream):
            block = self._ask(pool, size, stream)
        if block is None:
            self.empty_cache()
            block = self._ask(pool, size, stream)
        if block is None:
            raise OutOfMemory(size, self.allocated, self.reserved, self.settings.allowed or 0)
        return block

    def _ask(self, pool: Pool, size: int, stream: int) -> Optional[Block]:
        segment, settings = segment_size(size, self.settings), self.settings
        # Where segments grow, PyTorch compares a size of its own with the fraction, and the driver what is mapped with the capacity.
        limit = settings.allowed if settings.memory_fraction is not None or not settings.expandable_segments else None
        if limit is not None and self.reserved + segment > limit:
            return None
        if settings.expandable_segments:
            return self._expand(pool, size, stream)
        block = Block(self._new_range(segment), segment, stream, pool)
        self._reserve(segment)
        return block

    def _expand(self, pool: Pool, size: int, stream: int) -> Optional[Block]:
        """Maps memory after the last free block of an expandable segment, as try_allocate_expandable_block does."""
        block = self._expandable(pool, size, stream)
        if not block.is_mapped:
            if not self._map(block, min(block.size, size)):
                return None
        while block.size < size:
            following = block.after
            assert following is not None
            if not self._map(following, min(size - block.size, following.size)):
                return None
            block = following  # It has taken the free block before it.
        pool.remove(block)
        return block

    def _expandable(self, pool: Pool, size: int, stream: int) -> Block:
        for entry in pool.unmapped[bisect.bisect_left(pool.unmapped, (stream,)):]:
            if entry[0] != stream:
                break
            block = entry[2]
            if block.before and block.before.is_free:
                block = block.before
            if _room(block, size) >= size:
                return block
        grain = SMALL_SEGMENT if pool.is_small else self.settings.large_segment
        # One and an eighth of the device's memory, as find_expandable_block has it.
        capacity = self.settings.capacity or _LARGE_DEVICE
        length = -(-(capacity + capacity // 8) // grain) * grain
        block = Block(self._new_range(length), length, stream, pool, grain, is_mapped=False)
        pool.add_unmapped(block)
        return block

    def _map(self, block: Block, size: int) -> bool:
        grain, pool, capacity = block.expandable, block.pool, self.settings.capacity
        size = -(-size // grain) * grain
        if capacity is not None and self.reserved + size > capacity:
            return False
        pool.remove_unmapped(block)
        block.is_mapped = True
        if size < block.size:
            rest = Block(block.address + size, block.size - size, block.stream, pool, grain, is_mapped=False)
            block.size = size
            block.insert_after(rest)
            pool.add_unmapped(rest)
        self._merge(block, block.before)
        self._merge(block, block.after)
        pool.add(block)
        self._reserve(size)
        return True

    def _unmap(self, block: Block) -> None:
        """Gives the whole pages of a free block of an expandable segment back, as unmap_block does."""
        grain, pool = block.expandable, block.pool
        begin, end = -(-block.address // grain) * grain, (block.address + block.size) // grain * grain
        if end <= begin:
            return
        pool.remove(block)
        if begin > block.address:
            head = Block(block.address, begin - block.address, block.stream, pool, grain)
            head.before, head.after, block.before = block.before, block, head
            if head.before:
                head.before.after = head
            pool.add(head)
        if end < block.address + block.size:
            tail = Block(end, block.address + block.size - end, block.stream, pool, grain)
            block.insert_after(tail)
            pool.add(tail)
        block.address, block.size, block.is_mapped = begin, end - begin, False
        self.reserved -= end - begin
        self._merge(block, block.before)
        self._merge(block, block.after)
        if block.is_split:
            pool.add_unmapped(block)

    def _merge(self, block: Block, other: Optional[Block]) -> None:
        """Lets `block` take a free neighbour, as try_merge_blocks does."""
        if other is None or not other.is_free or other.is_mapped != block.is_mapped:
            return
        if other.is_mapped:
            block.pool.remove(other)
        else:
            block.pool.remove_unmapped(other)
        if block.before is other:
            block.address, block.before = other.address, other.before
            if block.before:
                block.before.after = block
        else:
            block.after = other.after
            if block.after:
                block.after.before = block
        block.size += other.size

    def _release_oversized(self, pool: Pool, size: int, stream: int) -> bool:
        """Gives back blocks that are too large to be split, as release_available_cached_blocks does. Returns whether that may be enough."""
        limit = self.settings.max_split_size
        if limit is None:
            return False
        wanted = max(size, limit)
        large_enough = next(self._from(pool, wanted, stream), None)
        if large_enough:
            self._release(large_enough)
            return True
        released = 0
        for block in [entry[3] for entry in reversed(pool.free) if entry[0] == stream]:
            if released >= wanted or block.size < limit:
                break
            released += block.size
            self._release(block)
        return released >= wanted

    def _collect_old(self) -> None:
        """Gives whole segments back that were not used for long, as garbage_collect_cached_blocks does."""
        pool, allowed = self._large, self.settings.allowed or 0
        wanted = self.reserved - int(self.settings.garbage_collection_threshold * allowed)
        candidates = [entry[3] for entry in pool.free if not entry[3].is_split]
        ages = {id(block): pool.searches - block.born for block in candidates}
        released, has_released = 0, True
        while candidates and wanted > released and has_released:
            threshold, has_released = sum(ages[id(block)] for block in candidates) / len(candidates), False
            for block in list(candidates):
                # The average sinks while blocks of its age leave; PyTorch keeps the one that the round began with.
                if ages[id(block)] >= threshold:
                    candidates.remove(block)
                    released, has_released = released + block.size, True
                    self._release(block)

    def _release(self, block: Block) -> None:
        block.pool.remove(block)
        self.reserved -= block.size

    def _reserve(self, size: int) -> None:
        self.reserved += size
        self.segments += 1

    def _new_range(self, size: int) -> int:
        # Aligned to every size that a segment may grow by.
        grain = max(self.settings.large_segment, SMALL_SEGMENT)
        address, self._next_address = self._next_address, self._next_address + -(-size // grain) * grain
        return address


def round_size(size: int, settings: Settings = Settings()) -> int:
    """Returns the bytes of the block for `size` bytes that were asked for, as round_size does."""
    if size < MIN_BLOCK:
        return MIN_BLOCK
    interval = min(max(size.bit_length() - 1 - 20, 0), len(settings.divisions) - 1)
    divisions = settings.divisions[interval]
    if divisions <= 1 or size <= MIN_BLOCK * divisions:
        return -(-size // MIN_BLOCK) * MIN_BLOCK
    part = (1 << (size.bit_length() - 1)) // divisions
    return -(-size // part) * part


def segment_size(size: int, settings: Settings = Settings()) -> int:
    """Returns what is asked of the driver for a block of `size` bytes that finds no free one, as get_allocation_size does."""
    if size <= SMALL_SIZE:
        return SMALL_SEGMENT
    if size < MIN_LARGE_SEGMENT:
        return settings.large_segment
    return -(-size // SEGMENT_MULTIPLE) * SEGMENT_MULTIPLE


def _possible_size(block: Block) -> int:
    following = block.after
    return block.size + (following.size if following and not following.is_mapped else 0)


def _room(block: Optional[Block], wanted: int) -> int:
    """Returns the bytes from `block` on that are free or can be mapped, up to what is wanted."""
    found = 0
    while block and block.is_free and found < wanted:
        found += block.size
        block = block.after
    return found
