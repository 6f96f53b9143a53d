/* Takes the picture of a template's writable memory: a memory file, mapped privately over the
 * memory itself. After this an unwritten page belongs to the file, and a written page to the
 * process. /proc/self/pagemap shows which pages are written, on any kernel and without privileges.
 *
 * Pages that the base picture has are mapped from there, and are not in the file (base.c).
 *
 * The file is sealed: nobody can write to it, not even through a descriptor that a script may
 * find. */
#include "rewind/state.h"
#include "process/process.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The additional size of the file after the data. A script may enlarge a mapping of malloc, so the
 * file must be longer than the data. */
#define SLACK (UINT64_C(1) << 32)
#define SHORTEST_RUN 2 /* pages of the base picture that are mapped together */

/* Whether a mapping has one of these flags. `wf`: the memory is empty after a fork. `dp`: the
 * kernel may empty the memory at any time. Libraries that keep random state in such memory (glibc's
 * getrandom and others) treat an empty page as the sign of a fork and start again. They must do so
 * after a rewind too. */
static bool has_flag(const char *flags, const char *end, const char *wanted)
{
  const char *found = memmem(flags, end - flags, wanted, strlen(wanted));
  return found != NULL;
}

static bool find_wiped(mehari_rewind *rewind)
{
  int file = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
  size_t length = file < 0 ? 0 : mehari_proc_read(file, rewind->text, sizeof rewind->text);
  if (file >= 0)
    close(file);
  if (!length || length == sizeof rewind->text - 1)
    return false;
  mehari_range last = {0};
  for (const char *at = rewind->text; *at;) {
    const char *end = strchr(at, '\n');
    if (!end)
      break;
    unsigned long from, to;
    if (isXDIGIT(*at) && !isUPPER(*at) && sscanf(at, "%lx-%lx", &from, &to) == 2)
      last = (mehari_range){from, to, 0, 0};
    else if (strnEQ(at, "VmFlags:", 8) && (has_flag(at, end, " wf ") || has_flag(at, end, " dp "))) {
      if (rewind->wiped_count == MEHARI_REWIND_RANGES)
        return false;
      rewind->wiped[rewind->wiped_count++] = last;
    }
    at = end + 1;
  }
  return true;
}

int mehari_rewind_make_file(void)
{
  int file = memfd_create("mehari picture", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  int high = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, 10);
  if (file >= 0)
    close(file);
  mehari_descriptor_claim(high);
  return high;
}

static const char *map_file(mehari_rewind *rewind, uint64_t size)
{
  if (rewind->picture < 0)
    return "no memory file can be made";
  if (ftruncate(rewind->picture, size + SLACK) < 0)
    return "no memory file can be made large enough";
  rewind->image = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, rewind->picture, 0);
  return rewind->image == MAP_FAILED ? "the memory file cannot be mapped" : NULL;
}

void mehari_rewind_drop_file(mehari_rewind *rewind)
{
  if (rewind->image && rewind->image != MAP_FAILED)
    munmap((void *)rewind->image, rewind->pages * MEHARI_PAGE);
  if (rewind->picture >= 0) {
    mehari_descriptor_release(rewind->picture);
    close(rewind->picture);
  }
}

/* ---- the pages of the base picture ---- */

static bool is_empty(const uint64_t *page)
{
  uint64_t any = 0;
  for (int i = 0; i < 512; i++)
    any |= page[i];
  return !any;
}

/* Whether the base picture has a page with the same address and contents. */
static bool is_in_base(mehari_rewind *rewind, uint32_t page, uint64_t at, uint32_t *hint)
{
  const mehari_rewind *base = mehari_rewind_base();
  uint32_t there = mehari_rewind_base_page(at, hint);
  if (there == MEHARI_REWIND_PAGES)
    return false;
  rewind->base_page[page] = there;
  if ((rewind->state[page] | base->state[there]) & MEHARI_PAGE_ZERO)
    return rewind->state[page] & base->state[there] & MEHARI_PAGE_ZERO;
  return mehari_rewind_equal((const char *)at, base->image + there * MEHARI_PAGE, MEHARI_PAGE);
}

/* Takes short runs of pages from the base picture back, because each run needs a mapping. Returns
 * the number of the range's pages that the picture itself holds. */
static uint32_t join(mehari_rewind *rewind, const mehari_range *range)
{
  uint32_t end = range->first + (range->end - range->start) / MEHARI_PAGE, own = 0;
  for (uint32_t page = range->first, from; page < end;) {
    for (from = page; page < end && rewind->state[page] & MEHARI_PAGE_BASE; page++)
      ;
    if (page - from < SHORTEST_RUN)
      for (own += page - from; from < page; from++)
        rewind->state[from] &= ~MEHARI_PAGE_BASE;
    for (; page < end && !(rewind->state[page] & MEHARI_PAGE_BASE); page++)
      own++;
  }
  return own;
}

/* Finds out which pages are zeros, and which pages the base picture has. Returns the number of
 * pages that the picture itself holds. */
static uint32_t compare_with_base(mehari_rewind *rewind)
{
  uint32_t own = 0, hint = 0;
  for (uint32_t i = 0; i < rewind->range_count; i++) {
    const mehari_range *range = &rewind->ranges[i];
    uint32_t page = range->first;
    for (uint64_t at = range->start; at < range->end; at += MEHARI_PAGE, page++) {
      rewind->state[page] = is_empty((const uint64_t *)at) ? MEHARI_PAGE_ZERO : 0;
      if (is_in_base(rewind, page, at, &hint))
        rewind->state[page] |= MEHARI_PAGE_BASE;
    }
    own += join(rewind, range);
  }
  return own;
}

static void count_pages(mehari_rewind *rewind)
{
  rewind->pages_held = rewind->pages_shared = 0;
  for (uint32_t page = 0; page < rewind->pages; page++)
    if (!(rewind->state[page] & MEHARI_PAGE_ZERO))
      ++*(rewind->state[page] & MEHARI_PAGE_BASE ? &rewind->pages_shared : &rewind->pages_held);
}

/* Prepares the picture. Nothing may change the memory map between the return of this function and
 * mehari_rewind_take. */
const char *mehari_rewind_lay_out(mehari_rewind *rewind)
{
  /* The picture has the stack above the floor, which is low enough for the calls that follow. A
   * script's deeper stack grows into memory below the floor, which the picture does not have. */
  rewind->stack_floor = ((uint64_t)__builtin_frame_address(0) & ~(MEHARI_PAGE - 1)) - 15 * MEHARI_PAGE;
  volatile char *below = (char *)rewind->stack_floor - 2 * MEHARI_PAGE;
  *below = 0;
  rewind->maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (rewind->maps < 0 || !find_wiped(rewind)) {
    rewind->is_refused_by_kernel = true;
    return "/proc/self cannot be read";
  }
  if (!mehari_rewind_read_ranges(rewind))
    return "there is more memory than a picture can hold";
  const char *refusal = map_file(rewind, rewind->pages * MEHARI_PAGE);
  rewind->is_refused_by_kernel = refusal != NULL;
  /* The file's own mapping is shared, so the ranges do not include it. */
  if (!refusal && !mehari_rewind_read_ranges(rewind))
    refusal = "the memory map cannot be read";
  close(rewind->maps);
  rewind->maps = -1;
  rewind->brk = (uint64_t)(uintptr_t)sbrk(0);
  return refusal;
}

/* ---- on the stack aside ---- */

static void copy_memory(mehari_rewind *rewind)
{
  for (uint32_t i = 0; i < rewind->range_count; i++) {
    const mehari_range *range = &rewind->ranges[i];
    uint32_t page = range->first;
    for (uint64_t at = range->start; at < range->end; at += MEHARI_PAGE, page++)
      if (!(rewind->state[page] & (MEHARI_PAGE_ZERO | MEHARI_PAGE_BASE))) /* for others the file has a hole */
        mehari_rewind_copy((char *)rewind->image + page * MEHARI_PAGE, (const char *)at, MEHARI_PAGE);
  }
}

static bool seal(mehari_rewind *rewind)
{
  uint64_t size = rewind->pages * MEHARI_PAGE;
  KERNEL(SYS_munmap, rewind->image, size);
  return KERNEL(SYS_fcntl, rewind->picture, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 &&
         KERNEL(SYS_mmap, rewind->image, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, rewind->picture, 0) == (long)rewind->image;
}

bool mehari_rewind_fill(mehari_rewind *rewind)
{
  if (!mehari_pictures_reserve(rewind->owner, compare_with_base(rewind), rewind->most_pages)) {
    mehari_rewind_refuse(rewind, "there is no room for its picture beside those of other scripts");
    return false;
  }
  count_pages(rewind);
  copy_memory(rewind);
  rewind->is_refused_by_kernel = !seal(rewind);
  if (rewind->is_refused_by_kernel)
    mehari_rewind_refuse(rewind, "the memory file cannot be sealed");
  return !rewind->is_refused_by_kernel;
}

void mehari_rewind_take(mehari_rewind *rewind)
{
  const mehari_rewind *base = mehari_rewind_base();
  if (!mehari_rewind_fill(rewind))
    return;
  rewind->is_refused_by_kernel = !mehari_rewind_map_picture(rewind);
  if (rewind->is_refused_by_kernel)
    mehari_rewind_refuse(rewind, "the picture cannot be mapped");
  if (base) /* the comparison has mapped all pages */
    KERNEL(SYS_madvise, base->image, base->pages * MEHARI_PAGE, MADV_DONTNEED);
}
