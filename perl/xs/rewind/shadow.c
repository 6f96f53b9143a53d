/* The memory of AddressSanitizer in a build with that sanitizer (tests/sanitize/run). Other builds
 * have none of this.
 *
 * For each eight bytes of memory the sanitizer has one byte of shadow, which says whether the bytes
 * may be used. The shadow of all addresses takes terabytes, so the picture has only the shadow of
 * its own ranges, as ranges of their own. They are restored like other memory. The sanitizer's
 * malloc is ordinary memory, except that it makes parts of a reserved mapping writable when it
 * grows. The files that run on the stack aside are built without the sanitizer (Makefile.PL),
 * because they copy bytes that nobody may use. */
#include "rewind/state.h"

#ifdef MEHARI_ADDRESS_SANITIZER
#include <sys/mman.h>

#define ADDRESSES (UINT64_C(1) << 47)

void __asan_get_shadow_mapping(size_t *scale, size_t *offset);

static uint64_t shadow_of(uint64_t at)
{
  size_t scale, offset;
  __asan_get_shadow_mapping(&scale, &offset);
  return (at >> scale) + offset;
}

static uint64_t page_of(uint64_t at) { return at & ~(MEHARI_PAGE - 1); }
static uint64_t page_after(uint64_t at) { return page_of(at + MEHARI_PAGE - 1); }

/* The sanitizer maps a page before the shadow, too. */
bool mehari_rewind_is_shadow(uint64_t at) { return at >= shadow_of(0) - MEHARI_PAGE && at < shadow_of(ADDRESSES); }

void mehari_rewind_find_shadow(const mehari_range *range, uint64_t *start, uint64_t *end)
{
  *start = page_of(shadow_of(range->start));
  *end = page_after(shadow_of(range->end));
}

void mehari_rewind_forget_shadow(uint64_t start, uint64_t end)
{
  uint64_t from = shadow_of(start), to = shadow_of(end);
  if (page_after(from) >= page_of(to)) {
    mehari_rewind_empty((char *)from, to - from);
    return;
  }
  mehari_rewind_empty((char *)from, page_after(from) - from);
  KERNEL(SYS_madvise, page_after(from), page_of(to) - page_after(from), MADV_DONTNEED);
  mehari_rewind_empty((char *)page_of(to), to - page_of(to));
}

/* Whether the mapping was reserved at the time of the picture and is writable since. */
static bool is_grown(const mehari_rewind *rewind, uint64_t start, uint64_t end)
{
  bool was_there = false;
  for (uint32_t i = 0; i < rewind->mapping_count && !was_there; i++)
    was_there = start >= rewind->mappings[i].start && end <= rewind->mappings[i].end;
  for (uint32_t i = 0; i < rewind->range_count && was_there; i++)
    was_there = start >= rewind->ranges[i].end || end <= rewind->ranges[i].start;
  for (uint32_t i = 0; i < rewind->wiped_count && was_there; i++)
    was_there = start != rewind->wiped[i].start;
  return was_there;
}

void mehari_rewind_shrink_reserve(const mehari_rewind *rewind, uint64_t start, uint64_t end)
{
  if (mehari_rewind_is_shadow(start) || !is_grown(rewind, start, end))
    return;
  KERNEL(SYS_mmap, start, end - start, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  mehari_rewind_forget_shadow(start, end);
}

#endif
