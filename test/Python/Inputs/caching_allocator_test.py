"""PyTorch's caching allocator, simulated: each sequence's bytes are worked out by hand in a comment."""

import random
import unittest

from llmmem._allocator_settings import INTERVALS, Settings, parse_settings
from llmmem._caching_allocator import CachingAllocator, OutOfMemory, allocate, free, round_size, segment_size, simulate

MIB = 1 << 20


def alternating(count, size):
    """Allocates `count` blocks and frees every second one."""
    return [allocate(number, size) for number in range(count)] + [free(number) for number in range(0, count, 2)]


class RoundingTest(unittest.TestCase):
    def test_sizes_are_multiples_of_512(self):
        self.assertEqual([512, 512, 512, 1024, MIB + 512], [round_size(size) for size in (1, 511, 512, 513, MIB + 1)])

    def test_divisions_cut_the_way_between_powers_of_two(self):
        # Documented for PYTORCH_CUDA_ALLOC_CONF: 1,200 with 4 divisions is 1,280, of 1024, 1280, 1536, 1792. Those sizes are below 512
        # times 4, so that they are rounded to 512 in fact; the same numbers in KiB are not.
        settings = Settings(divisions=(4,) * INTERVALS)
        self.assertEqual(1280 * 1024, round_size(1200 * 1024, settings))
        self.assertEqual(1536, round_size(1200, settings))
        self.assertEqual(1024 * 1024, round_size(1024 * 1024, settings))

    def test_divisions_differ_by_size(self):
        settings = parse_settings("roundup_power2_divisions:[64:8,256:4,1024:4,>:1]")
        # 100 MiB is in the interval from 64 MiB: multiples of 8 MiB. 1 MiB and less have the number of the first interval.
        self.assertEqual(104 * MIB, round_size(100 * MIB, settings))
        self.assertEqual(320 * MIB, round_size(257 * MIB, settings))
        self.assertEqual(640 * 1024, round_size(600 * 1024, settings))
        self.assertEqual(3000 * MIB, round_size(3000 * MIB, settings))
        # No number was given for 128 MiB: multiples of 512.
        self.assertEqual(130 * MIB, round_size(130 * MIB, settings))

    def test_segments(self):
        self.assertEqual([2 * MIB, 2 * MIB, 20 * MIB, 20 * MIB, 10 * MIB, 12 * MIB],
                         [segment_size(size) for size in (512, MIB, MIB + 512, 10 * MIB - 512, 10 * MIB, 10 * MIB + 512)])


class PoolsTest(unittest.TestCase):
    def test_small_blocks_share_segments_of_2_mib(self):
        # As PyTorch's test_mempool_with_allocator has it: two of 1 MiB share a segment, the third needs another.
        events = [allocate(number, MIB) for number in range(3)]
        self.assertEqual([(1, 2), (2, 2), (3, 4)], [(allocated // MIB, reserved // MIB)
                                                    for allocated, reserved in simulate(events, timeline=True).timeline])

    def test_recorded_snapshot(self):
        # torch.cuda.memory_snapshot() of `y = X @ W + b` in f32, W of 1000 x 10, as published in discuss.pytorch.org/t/178671: the product is
        # freed, and cuBLAS keeps 8,519,680 bytes.
        allocator = CachingAllocator()
        blocks = [allocator.allocate(size) for size in (40000, 40, 4000, 8519680, 40, 40)]
        allocator.free(blocks[4])
        small = [block for block in blocks if block.pool.is_small]
        self.assertEqual([40448, 512, 4096, 512, 512], [block.size for block in small])
        self.assertEqual([0, 40448, 40960, 45056, 45568], [block.address - small[0].address for block in small])
        self.assertEqual(2051072, small[-1].after.size)
        self.assertEqual((8519680, 12451840), (blocks[3].size, blocks[3].after.size))
        self.assertEqual((45568 + 8519680, 2097152 + 20971520), (allocator.allocated, allocator.reserved))

    def test_small_blocks_are_not_cut_from_large_segments(self):
        usage = simulate([allocate("large", 15 * MIB), free("large"), allocate("small", 512)])
        self.assertEqual(16 * MIB + 2 * MIB, usage.reserved)

    def test_large_rest_of_at_most_1_mib_stays_with_its_block(self):
        # 15 MiB + 512 are given 16 MiB, whose rest is below 1 MiB.
        self.assertEqual(16 * MIB, simulate([allocate(0, 15 * MIB + 512)]).allocated)
        # 18 of 20 MiB are left for the second, whose rest is then 16.
        usage = simulate([allocate(0, 2 * MIB), allocate(1, 2 * MIB)])
        self.assertEqual((4 * MIB, 20 * MIB), (usage.allocated, usage.reserved))

    def test_smallest_block_that_fits_is_taken(self):
        allocator = CachingAllocator()
        first, second = allocator.allocate(40 * MIB), allocator.allocate(30 * MIB)
        allocator.free(first)
        allocator.free(second)
        self.assertIs(second, allocator.allocate(30 * MIB))
        # The larger one is split.
        third = allocator.allocate(24 * MIB)
        self.assertEqual((first.address, 24 * MIB, 70 * MIB), (third.address, third.size, allocator.reserved))

    def test_neighbours_merge(self):
        # Five of 4 MiB fill 20 MiB. Freed 1 and 2, 8 MiB are free in one piece; freed 0 and 2, they are not.
        filled = [allocate(number, 4 * MIB) for number in range(5)]
        self.assertEqual(20 * MIB, simulate([*filled, free(1), free(2), allocate("x", 8 * MIB)]).reserved)
        self.assertEqual(40 * MIB, simulate([*filled, free(0), free(2), allocate("x", 8 * MIB)]).reserved)

    def test_streams_have_blocks_of_their_own(self):
        usage = simulate([allocate(0, 12 * MIB), free(0), allocate(1, 12 * MIB, stream=1)])
        self.assertEqual((12 * MIB, 24 * MIB), (usage.allocated, usage.reserved))

    def test_peaks_are_where_they_are_reached(self):
        usage = simulate([allocate(0, 12 * MIB), allocate(1, 12 * MIB), free(0), free(1), allocate(2, 30 * MIB)])
        self.assertEqual((30 * MIB, 4, 54 * MIB, 4, 3),
                         (usage.allocated, usage.allocated_at, usage.reserved, usage.reserved_at, usage.segments))
        self.assertEqual((30 * MIB, 54 * MIB), (usage.allocated_end, usage.reserved_end))

    def test_nothing_is_allocated_for_0_bytes(self):
        self.assertEqual(0, simulate([allocate(0, 0), free(0)]).reserved)

    def test_wrong_sequences_are_named(self):
        with self.assertRaisesRegex(ValueError, "event 1 allocates 'x', which is allocated already"):
            simulate([allocate("x", 5), allocate("x", 5)])
        with self.assertRaisesRegex(ValueError, "event 0 ends 'x', which is not allocated"):
            simulate([free("x")])


class LimitsTest(unittest.TestCase):
    def test_oversized_blocks_are_not_split(self):
        # Of 100 MiB, 50 would be split off. With a limit of 64 the block serves nothing that is smaller than the limit.
        events = [allocate(0, 100 * MIB), free(0), allocate(1, 50 * MIB)]
        self.assertEqual(100 * MIB, simulate(events).reserved)
        self.assertEqual(150 * MIB, simulate(events, parse_settings("max_split_size_mb:64")).reserved)

    def test_oversized_requests_take_blocks_that_are_little_larger(self):
        settings = parse_settings("max_split_size_mb:64")
        nearly = simulate([allocate(0, 100 * MIB), free(0), allocate(1, 82 * MIB)], settings)
        self.assertEqual((100 * MIB, 100 * MIB), (nearly.allocated_end, nearly.reserved))
        self.assertEqual(180 * MIB, simulate([allocate(0, 100 * MIB), free(0), allocate(1, 80 * MIB)], settings).reserved)

    def test_free_segments_are_returned_before_memory_is_out(self):
        settings = Settings(capacity=100 * MIB)
        usage = simulate([allocate(0, 60 * MIB), free(0), allocate(1, 90 * MIB)], settings)
        self.assertEqual((90 * MIB, 90 * MIB), (usage.reserved, usage.reserved_end))

    def test_memory_is_out_where_parts_are_in_use(self):
        # A block of 2 MiB holds the segment of 20 MiB.
        settings = Settings(capacity=100 * MIB)
        with self.assertRaises(OutOfMemory) as caught:
            simulate([allocate(0, 2 * MIB), allocate(1, 60 * MIB), free(1), allocate(2, 82 * MIB)], settings)
        self.assertEqual((82 * MIB, 2 * MIB, 20 * MIB), (caught.exception.requested, caught.exception.allocated, caught.exception.reserved))

    def test_oversized_blocks_are_returned_first(self):
        # At the second request 80 of 100 MiB are in free oversized blocks: that of 40 is enough for 50, and is not returned alone.
        settings = parse_settings("max_split_size_mb:32", capacity=100 * MIB)
        usage = simulate([allocate(0, 40 * MIB), allocate(1, 36 * MIB), free(0), free(1), allocate(2, 64 * MIB)], settings)
        self.assertEqual(64 * MIB, usage.reserved_end)
        usage = simulate([allocate(0, 70 * MIB), allocate(1, 20 * MIB), free(0), free(1), allocate(2, 40 * MIB)], settings)
        self.assertEqual(60 * MIB, usage.reserved_end)

    def test_pytorchs_test_of_expandable_and_oversized_blocks(self):
        # test_max_split_expandable of PyTorch: 120 MiB are allowed, and settings change between the allocations.
        plain, growing = (parse_settings(f"expandable_segments:{flag},max_split_size_mb:40,per_process_memory_fraction:0.5",
                                         capacity=240 * MIB) for flag in ("False", "True"))
        allocator = CachingAllocator(plain)
        blocks = [allocator.allocate(40 * MIB)]
        allocator.settings = growing
        blocks.append(allocator.allocate(40 * MIB))
        allocator.settings = plain
        blocks.append(allocator.allocate(40 * MIB))
        with self.assertRaises(OutOfMemory):
            allocator.allocate(40 * MIB)
        for block in blocks:
            allocator.free(block)
        allocator.allocate(120 * MIB)
        self.assertEqual(120 * MIB, allocator.reserved)

    def test_pytorchs_test_of_expandable_blocks_and_garbage(self):
        # test_garbage_collect_expandable of PyTorch: the old segment of 40 MiB is returned, the growing one stays until memory is out.
        plain, growing = (parse_settings(f"expandable_segments:{flag},garbage_collection_threshold:0.5,per_process_memory_fraction:0.5",
                                         capacity=240 * MIB) for flag in ("False", "True"))
        allocator = CachingAllocator(plain)
        first = allocator.allocate(40 * MIB)
        allocator.settings = growing
        second = allocator.allocate(40 * MIB)
        allocator.free(first)
        allocator.free(second)
        allocator.settings = plain
        allocator.allocate(80 * MIB)
        self.assertEqual(120 * MIB, allocator.reserved)

    def test_garbage_is_what_was_not_used_for_long(self):
        # Of 200 MiB half is the threshold. At the last request 110 are reserved: the segment of 50 is older than the average, that of 60 was
        # used since.
        events = [allocate(0, 50 * MIB), allocate(1, 60 * MIB), free(0), free(1), *(
            event for _ in range(3) for event in (allocate(2, 60 * MIB), free(2))), allocate(3, 70 * MIB)]
        settings = parse_settings("garbage_collection_threshold:0.5,per_process_memory_fraction:1.0", capacity=200 * MIB)
        self.assertEqual(130 * MIB, simulate(events, settings).reserved_end)
        self.assertEqual(180 * MIB, simulate(events, Settings(capacity=200 * MIB)).reserved_end)


class ExpandableTest(unittest.TestCase):
    settings = parse_settings("expandable_segments:True")

    def test_segment_grows_by_20_mib(self):
        usage = simulate([allocate(0, 15 * MIB), allocate(1, 15 * MIB)], self.settings, timeline=True)
        # 5 MiB are left of the first 20, so that 10 more are mapped, in a page of 20.
        self.assertEqual(((15 * MIB, 20 * MIB), (30 * MIB, 40 * MIB)), usage.timeline)

    def test_small_blocks_have_a_segment_that_grows_by_2_mib(self):
        self.assertEqual(4 * MIB, simulate([allocate(number, MIB) for number in range(3)], self.settings).reserved)

    def test_free_parts_join_what_is_mapped_behind_them(self):
        # Plain segments need 40 + 64 MiB; here the 40 that were freed are the beginning of the 64.
        events = [allocate(0, 40 * MIB), free(0), allocate(1, 64 * MIB)]
        self.assertEqual(104 * MIB, simulate(events).reserved)
        self.assertEqual(80 * MIB, simulate(events, self.settings).reserved)

    def test_holes_stay_where_nothing_fits(self):
        events = [*alternating(6, 20 * MIB), allocate("x", 40 * MIB)]
        self.assertEqual(160 * MIB, simulate(events, self.settings).reserved)

    def test_rest_of_512_is_split_off(self):
        usage = simulate([allocate(0, 20 * MIB - 1024), allocate(1, 2 * MIB)], self.settings)
        self.assertEqual(22 * MIB - 1024, usage.allocated)

    def test_end_that_can_grow_is_the_last_choice(self):
        # Free are a hole of 22 MiB and the end of 21, which can grow: the hole is taken, though it is larger.
        allocator = CachingAllocator(self.settings)
        first = allocator.allocate(22 * MIB)
        wall, end = allocator.allocate(17 * MIB), allocator.allocate(21 * MIB)
        self.assertEqual(60 * MIB, allocator.reserved)
        allocator.free(first)
        allocator.free(end)
        self.assertEqual(first.address, allocator.allocate(20 * MIB).address)
        self.assertFalse(wall.is_free)

    def test_empty_pages_are_unmapped(self):
        allocator = CachingAllocator(self.settings)
        blocks = [allocator.allocate(30 * MIB) for _ in range(4)]
        self.assertEqual(120 * MIB, allocator.reserved)
        # From 30 to 60 MiB is free: one whole page of 20 lies there.
        allocator.free(blocks[1])
        allocator.empty_cache()
        self.assertEqual(100 * MIB, allocator.reserved)
        # It is mapped again where it fits, as the segment's lowest place.
        self.assertEqual(blocks[0].address + 30 * MIB, allocator.allocate(30 * MIB).address)
        self.assertEqual(120 * MIB, allocator.reserved)
        for block in (blocks[0], blocks[2], blocks[3]):
            allocator.free(block)
        allocator.empty_cache()
        self.assertEqual(40 * MIB, allocator.reserved)  # The pages of 30 to 60.


class ConsistencyTest(unittest.TestCase):
    def test_blocks_never_overlap_and_all_comes_back(self):
        for text in ("", "expandable_segments:True", "max_split_size_mb:32", "roundup_power2_divisions:4"):
            rng, allocator, live = random.Random(text), CachingAllocator(parse_settings(text)), []
            for _ in range(2000):
                if live and rng.random() < 0.5:
                    allocator.free(live.pop(rng.randrange(len(live))))
                else:
                    live.append(allocator.allocate(rng.choice((1, 700, 1 << 18, 3 << 20, 9 << 20, 33 << 20)), rng.randrange(2)))
                self.assertEqual(sum(block.size for block in live), allocator.allocated)
                self.assertLessEqual(allocator.allocated, allocator.reserved)
            places = sorted((block.address, block.address + block.size) for block in live)
            self.assertTrue(all(end <= begin for (_, end), (begin, _) in zip(places, places[1:])))
            for block in live:
                allocator.free(block)
            allocator.empty_cache()
            self.assertEqual((0, 0), (allocator.allocated, allocator.reserved))


class SettingsTest(unittest.TestCase):
    def test_other_keys(self):
        settings = parse_settings("backend:native, large_segment_size_mb:40, pinned_use_background_threads:True,max_non_split_rounding_mb:24")
        self.assertEqual((40 * MIB, 24 * MIB), (settings.large_segment, settings.max_non_split_rounding))
        self.assertEqual(40 * MIB, simulate([allocate(0, 2 * MIB)], settings).reserved)
        self.assertEqual(Settings(), parse_settings(""))

    def test_refusals(self):
        for text, message in (("max_split_size_mb:5", "is 5; expected at least 20"), ("size:5", "'size' is no setting"),
                              ("expandable_segments:1", "expected True or False"), ("backend:cudaMallocAsync", "native allocator"),
                              ("roundup_power2_divisions:3", "powers of two"), ("max_split_size_mb", "no key:value"),
                              ("garbage_collection_threshold:2", "between 0 and 1"), ("max_split_size_mb:x", "whole number")):
            with self.assertRaisesRegex(ValueError, message):
                parse_settings(text)


if __name__ == "__main__":
    unittest.main()
