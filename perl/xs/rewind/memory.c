/* Restores memory as it is in the picture. Two ideas make this cheap:
 *
 * Hot pages: a page that was found written twice is no longer tracked but copied back each time. A
 * copy costs a tenth of a search. A page that stays unchanged for long is tracked again, and each
 * time the page gets hot again, it must stay unchanged for twice as long.
 *
 * The gate: a page that is not hot cannot be written without a page fault, and the kernel counts
 * page faults. While the count is the same as after the last rewind, only hot pages have been
 * written, and no search is needed.
 *
 * All functions here run on the stack aside. */
#include "rewind/state.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define BLOCK (sizeof ((mehari_rewind *)0)->entries / sizeof(uint64_t))
#define COOL_EVERY 64 /* rewinds between two checks whether hot pages are still written */
#define COOL_AFTER 4 /* a page is tracked again after this many checks without a change ... */
#define COOL_TIMES 6 /* ... twice as many each time, and at most this many times */

/* Returns the number of page faults, minor and major. A fault that the kernel tries twice, or that
 * reads from swap, counts as major. For one thread the kernel needs half the time. */
static uint64_t faults_so_far(const mehari_rewind *rewind)
{
  struct rusage usage;
  KERNEL(SYS_getrusage, rewind->reach & MEHARI_REACH_THREADS ? RUSAGE_SELF : RUSAGE_THREAD, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

/* Whether the page was written: it is this process's own copy of a private mapping, in memory or
 * swapped out. */
static bool was_written(uint64_t entry)
{
  bool present = entry >> 63 & 1, swapped = entry >> 62 & 1, of_file = entry >> 61 & 1;
  return swapped || (present && !of_file);
}

typedef void (*see_page)(mehari_rewind *rewind, uint32_t page, uint64_t at);

static void each_written(mehari_rewind *rewind, see_page see)
{
  for (uint32_t i = 0; i < rewind->range_count; i++) {
    const mehari_range *range = &rewind->ranges[i];
    uint64_t pages = (range->end - range->start) / MEHARI_PAGE;
    for (uint64_t done = 0; done < pages;) {
      uint64_t count = pages - done < BLOCK ? pages - done : BLOCK;
      long got = KERNEL(SYS_pread64, rewind->pagemap, rewind->entries, count * sizeof(uint64_t), (range->start / MEHARI_PAGE + done) * sizeof(uint64_t));
      if (got < (long)sizeof(uint64_t)) {
        mehari_rewind_refuse(rewind, "pagemap cannot be read");
        return;
      }
      for (uint64_t k = 0; k < got / sizeof(uint64_t); k++)
        if (was_written(rewind->entries[k]))
          see(rewind, range->first + done + k, range->start + (done + k) * MEHARI_PAGE);
      done += got / sizeof(uint64_t);
    }
  }
}

/* ---- where a page's contents are ---- */

static uint32_t own_index(const mehari_rewind *rewind, uint32_t page)
{
  uint32_t low = 0, high = rewind->own_count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (rewind->own_page[middle] < page)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Returns the contents of a page in the picture. NULL: zeros. */
static const char *contents(mehari_rewind *rewind, uint32_t page)
{
  if (rewind->state[page] & MEHARI_PAGE_OWN)
    return rewind->own[own_index(rewind, page)];
  if (rewind->state[page] & MEHARI_PAGE_ZERO)
    return NULL;
  if (rewind->state[page] & MEHARI_PAGE_BASE)
    return mehari_rewind_base()->image + rewind->base_page[page] * MEHARI_PAGE;
  return rewind->image + page * MEHARI_PAGE;
}

static bool is_as_before(const char *now, const char *then, size_t length)
{
  static const char zeros[MEHARI_PAGE];
  return mehari_rewind_equal(now, then ? then : zeros, length);
}

/* ---- hot pages ---- */

static bool has_rseq(const mehari_rewind *rewind, uint64_t at) { return rewind->rseq - at < MEHARI_PAGE; }

bool mehari_rewind_is_of_process(const mehari_rewind *rewind, uint64_t at)
{
  return has_rseq(rewind, at) || (at >= rewind->arguments && at < rewind->arguments_end);
}

static void add_run(mehari_rewind *rewind, uint64_t at, uint64_t from)
{
  mehari_run *last = rewind->run_count ? &rewind->runs[rewind->run_count - 1] : NULL;
  bool follows = last && last->to + last->length == at && (from ? last->from && last->from + last->length == from : !last->from);
  bool apart = has_rseq(rewind, at) || (last && has_rseq(rewind, last->to));
  if (follows && !apart)
    last->length += MEHARI_PAGE;
  else
    rewind->runs[rewind->run_count++] = (mehari_run){at, from, MEHARI_PAGE};
}

static void list_runs(mehari_rewind *rewind)
{
  rewind->run_count = 0;
  for (uint32_t i = 0; i < rewind->range_count; i++) {
    const mehari_range *range = &rewind->ranges[i];
    uint32_t page = range->first;
    for (uint64_t at = range->start; at < range->end; at += MEHARI_PAGE, page++)
      if (rewind->state[page] & MEHARI_PAGE_HOT && rewind->run_count < MEHARI_REWIND_HOT)
        add_run(rewind, at, (uint64_t)contents(rewind, page));
  }
}

/* How often a page got hot, from 0 to 7, is in the upper bits of its state. */
static unsigned times_hot(const mehari_rewind *rewind, uint32_t page) { return rewind->state[page] / MEHARI_PAGE_TIMES; }

static bool stays_hot(const mehari_rewind *rewind, uint32_t page)
{
  bool is_own = rewind->state[page] & MEHARI_PAGE_OWN;
  return times_hot(rewind, page) > COOL_TIMES || (is_own && mehari_rewind_is_of_process(rewind, rewind->own_at[own_index(rewind, page)]));
}

static bool heat(mehari_rewind *rewind, uint32_t page)
{
  if (rewind->hot_count == MEHARI_REWIND_HOT) {
    mehari_rewind_refuse(rewind, "its requests write to more memory than is worth copying back");
    return false;
  }
  rewind->state[page] |= MEHARI_PAGE_HOT;
  if (!stays_hot(rewind, page))
    rewind->state[page] += MEHARI_PAGE_TIMES;
  rewind->quiet[page] = 0;
  rewind->hot_count++;
  return true;
}

static void copy_run(mehari_rewind *rewind, const mehari_run *run)
{
  char *to = (char *)run->to;
  const char *from = (const char *)run->from;
  if (!from) {
    mehari_rewind_empty(to, run->length);
    return;
  }
  if (!has_rseq(rewind, run->to)) {
    mehari_rewind_copy(to, from, run->length);
    return;
  }
  /* The kernel writes to the rseq area at any time, so the area is left out. */
  uint64_t before = rewind->rseq - run->to, after = before + rewind->rseq_length;
  mehari_rewind_copy(to, from, before);
  mehari_rewind_copy(to + after, from + after, MEHARI_PAGE - after);
}

/* ---- pages that are tracked ---- */

static void drop(mehari_rewind *rewind, uint64_t at)
{
  if (KERNEL(SYS_madvise, at, MEHARI_PAGE, MADV_DONTNEED) < 0)
    mehari_rewind_refuse(rewind, "it has locked its memory");
}

static void see_cold(mehari_rewind *rewind, uint32_t page, uint64_t at)
{
  uint8_t state = rewind->state[page];
  if (state & MEHARI_PAGE_HOT)
    return;
  rewind->cold++;
  if (state & MEHARI_PAGE_WARM && heat(rewind, page))
    return; /* is copied back with the other hot pages */
  rewind->state[page] |= MEHARI_PAGE_WARM;
  drop(rewind, at);
}

static void look(mehari_rewind *rewind)
{
  uint32_t before = rewind->hot_count;
  rewind->looks++;
  each_written(rewind, see_cold);
  if (rewind->hot_count != before)
    list_runs(rewind);
}

static void cool(mehari_rewind *rewind)
{
  uint32_t before = rewind->hot_count;
  for (uint32_t i = 0; i < rewind->range_count; i++) {
    const mehari_range *range = &rewind->ranges[i];
    uint32_t page = range->first;
    for (uint64_t at = range->start; at < range->end; at += MEHARI_PAGE, page++) {
      if (!(rewind->state[page] & MEHARI_PAGE_HOT) || stays_hot(rewind, page))
        continue;
      if (!is_as_before((const char *)at, contents(rewind, page), MEHARI_PAGE))
        rewind->quiet[page] = 0;
      else if (++rewind->quiet[page] == COOL_AFTER << (times_hot(rewind, page) - 1)) {
        rewind->state[page] &= ~MEHARI_PAGE_HOT;
        rewind->hot_count--;
        drop(rewind, at);
      }
    }
  }
  if (rewind->hot_count != before)
    list_runs(rewind);
}

static void wipe(mehari_rewind *rewind)
{
  for (uint32_t i = 0; i < rewind->wiped_count; i++)
    for (uint64_t at = rewind->wiped[i].start; at < rewind->wiped[i].end; at += MEHARI_PAGE)
      if (!is_as_before((const char *)at, NULL, MEHARI_PAGE))
        mehari_rewind_empty((char *)at, MEHARI_PAGE);
}

static void compare(mehari_rewind *rewind)
{
  for (uint32_t i = 0; i < rewind->range_count; i++) {
    const mehari_range *range = &rewind->ranges[i];
    uint32_t page = range->first;
    for (uint64_t at = range->start; at < range->end; at += MEHARI_PAGE, page++) {
      const char *now = (const char *)at, *then = contents(rewind, page);
      uint64_t before = has_rseq(rewind, at) ? rewind->rseq - at : MEHARI_PAGE, after = before + rewind->rseq_length;
      if (is_as_before(now, then, before) && (after >= MEHARI_PAGE || is_as_before(now + after, then ? then + after : NULL, MEHARI_PAGE - after)))
        continue;
      rewind->wrong_pages++;
      rewind->wrong_at = at;
    }
  }
}

/* Now and then the answer is yes without a fault, so that hot pages can cool. */
bool mehari_rewind_looks(mehari_rewind *rewind)
{
  bool cools = (rewind->rewinds + 1) % COOL_EVERY == 0, had_threads = rewind->doubts & ~rewind->reach & MEHARI_REACH_THREADS;
  rewind->is_written = faults_so_far(rewind) != rewind->faults || had_threads;
  return rewind->is_written || cools;
}

void mehari_rewind_put_back_memory(mehari_rewind *rewind, bool looks)
{
  if (rewind->is_written)
    look(rewind);
  if (++rewind->rewinds % COOL_EVERY == 0)
    cool(rewind);
  for (uint32_t i = 0; i < rewind->run_count; i++)
    copy_run(rewind, &rewind->runs[i]);
  wipe(rewind);
  if (rewind->compares)
    compare(rewind);
  /* Hot pages are in memory, so copying them back causes no fault. */
  if (looks || rewind->compares)
    rewind->faults = faults_so_far(rewind);
}

/* ---- the child's own picture ---- */

/* The fork takes and releases locks, so many written pages have the picture's contents. */
static void see_own(mehari_rewind *rewind, uint32_t page, uint64_t at)
{
  if (!mehari_rewind_is_of_process(rewind, at) && is_as_before((const char *)at, contents(rewind, page), MEHARI_PAGE)) {
    drop(rewind, at);
    return;
  }
  if (rewind->own_count == MEHARI_REWIND_OWN) {
    mehari_rewind_refuse(rewind, "the template went on writing after the picture");
    return;
  }
  mehari_rewind_copy(rewind->own[rewind->own_count], (const char *)at, MEHARI_PAGE);
  rewind->own_at[rewind->own_count] = at;
  rewind->own_page[rewind->own_count++] = page;
  rewind->state[page] |= MEHARI_PAGE_OWN;
  if (mehari_rewind_is_of_process(rewind, at))
    heat(rewind, page);
}

/* Writes the own pages to a memory file, and maps it over them. They then belong to a file like all
 * others, so that a search finds the written ones. */
static void map_own_pages(mehari_rewind *rewind)
{
  uint64_t size = rewind->own_count * MEHARI_PAGE, done = 0;
  long wrote = 1;
  for (; wrote > 0 && done < size; done += wrote > 0 ? wrote : 0)
    wrote = KERNEL(SYS_pwrite64, rewind->own_picture, rewind->own[0] + done, size - done, done);
  bool sealed = KERNEL(SYS_fcntl, rewind->own_picture, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  if (done < size || !sealed || !mehari_rewind_map_own(rewind))
    mehari_rewind_refuse(rewind, "the memory file cannot be sealed");
}

/* Takes the child's own picture: the pages that were written since the template took its picture
 * (the fork has written pages, too). */
void mehari_rewind_note_difference(mehari_rewind *rewind)
{
  each_written(rewind, see_own);
  map_own_pages(rewind);
  if (!mehari_rewind_read_mappings(rewind))
    mehari_rewind_refuse(rewind, "the memory map cannot be read");
  if (!mehari_rewind_has_all_memory(rewind))
    mehari_rewind_refuse(rewind, "the template's memory has grown");
  mehari_rewind_note_sizes(rewind);
  list_runs(rewind);
  rewind->faults = faults_so_far(rewind);
}
