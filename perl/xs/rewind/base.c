/* The base picture: the memory of the process that forks templates, in a memory file. Nearly all
 * pages of a template equal those of that process. A template's picture therefore holds only pages
 * that differ, and maps all others from the base picture, which exists once (picture.c).
 *
 * The process takes the base picture before it forks the first template that may rewind, and does
 * not change it. Without a base picture, each picture holds all of its pages. */
#include "rewind/rewind.h"
#include "rewind/state.h"
#include "process/process.h"
#include <sys/mman.h>
#include <unistd.h>

static mehari_rewind *base;

const mehari_rewind *mehari_rewind_base(void) { return base; }

uint32_t mehari_rewind_base_page(uint64_t at, uint32_t *hint)
{
  for (uint32_t tries = 0; base && tries < base->range_count; tries++, ++*hint) {
    if (*hint >= base->range_count)
      *hint = 0;
    const mehari_range *range = &base->ranges[*hint];
    if (at >= range->start && at < range->end)
      return range->first + (at - range->start) / MEHARI_PAGE;
  }
  return MEHARI_REWIND_PAGES;
}

/* Maps all pages of the file here, too. The kernel then counts them as shared with this process. */
static void hold(const mehari_rewind *all)
{
  for (uint32_t page = 0; page < all->pages; page++)
    if (!(all->state[page] & MEHARI_PAGE_ZERO))
      (void)*(const volatile char *)(all->image + page * MEHARI_PAGE);
}

bool mehari_rewind_take_base(uint64_t most_pages)
{
  mehari_rewind *all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED)
    return false;
  all->most_pages = most_pages;
  bool is_taken = !mehari_rewind_lay_out(all) && mehari_rewind_fill(all);
  madvise(all->text, sizeof all->text, MADV_DONTNEED);
  /* The memory of templates that is not writable does not belong to their pictures. */
  if (is_taken && mprotect(all, sizeof *all, PROT_READ) == 0) {
    hold(all);
    base = all;
    return true;
  }
  if (all->picture > 0) {
    mehari_descriptor_release(all->picture);
    close(all->picture);
  }
  munmap(all, sizeof *all);
  return false;
}

void mehari_pictures_leave(void)
{
  if (!base)
    return;
  mehari_descriptor_release(base->picture);
  close(base->picture);
  munmap((void *)base->image, base->pages * MEHARI_PAGE);
  munmap(base, sizeof *base);
  base = NULL;
}
