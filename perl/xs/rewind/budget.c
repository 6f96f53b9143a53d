/* Limits the memory of all pictures that a zygote's templates have, by a table that the zygote
 * shares with them. A template enters its picture in the table. The zygote removes the entry
 * when the template has ended in any way.
 *
 * A script on the rung `auto` has no claim to a picture: it gets one only while the table says
 * that there is room. */
#include "rewind/rewind.h"
#include "rewind/state.h"
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#define PICTURES 1024
#define TABLE_SIZE (PICTURES * sizeof *pictures + sizeof *has_said_refusal)

typedef struct {
  _Atomic pid_t owner; /* a template, or the zygote for the base picture; 0: the entry is free */
  _Atomic uint32_t pages;
} entry;
static entry *pictures;
static atomic_flag *has_said_refusal; /* behind the table */

void mehari_pictures_open(void)
{
  pictures = mmap(NULL, TABLE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (pictures == MAP_FAILED)
    pictures = NULL;
  else
    has_said_refusal = (atomic_flag *)(pictures + PICTURES);
}

bool mehari_pictures_say_refusal(void) { return has_said_refusal && !atomic_flag_test_and_set(has_said_refusal); }

void mehari_pictures_guard(void)
{
  if (pictures)
    mehari_key_guard(pictures, TABLE_SIZE);
}

static uint64_t pages_of_all(void)
{
  uint64_t pages = 0;
  for (int i = 0; i < PICTURES; i++)
    if (atomic_load(&pictures[i].owner))
      pages += atomic_load(&pictures[i].pages);
  return pages;
}

bool mehari_pictures_reserve(pid_t owner, uint32_t pages, uint64_t most)
{
  if (!pictures || pages > most || pages_of_all() > most - pages)
    return false;
  for (int i = 0; i < PICTURES; i++) {
    pid_t nobody = 0;
    if (!atomic_compare_exchange_strong(&pictures[i].owner, &nobody, owner))
      continue;
    atomic_store(&pictures[i].pages, pages);
    return true;
  }
  return false;
}

void mehari_pictures_release(pid_t owner)
{
  for (int i = 0; pictures && i < PICTURES; i++)
    if (atomic_load(&pictures[i].owner) == owner) {
      atomic_store(&pictures[i].pages, 0);
      atomic_store(&pictures[i].owner, 0);
    }
}
