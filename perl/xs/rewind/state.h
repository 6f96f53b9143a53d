/* The rung `rewind`: shared by its files.
 *
 * A template copies its writable memory into a memory file, the picture, and maps the file
 * privately over itself (picture.c). The child serves one request after another. After each
 * request, every written page is restored (memory.c), and so is the kernel's state (process.c,
 * files.c, mappings.c). The other folders call rewind.c.
 *
 * The restoring code runs on its own stack and writes only to `mehari_rewind` and to the state that
 * it restores. It makes its system calls without libc, because a failed call of libc would write
 * `errno`. */
#ifndef MEHARI_REWIND_STATE_H
#define MEHARI_REWIND_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>

#define MEHARI_PAGE UINT64_C(4096)
#define MEHARI_REWIND_PAGES (UINT32_C(1) << 20) /* 4 GiB */
#define MEHARI_REWIND_RANGES 1024
#define MEHARI_REWIND_MAPPINGS 4096
#define MEHARI_REWIND_HOT 8192
#define MEHARI_REWIND_OWN 2048
#define MEHARI_REWIND_FILES 64
#define MEHARI_REWIND_SIGNALS 64
#define MEHARI_REWIND_HELD 1024
#define MEHARI_REWIND_GROUPS 64
#define MEHARI_REWIND_CALLS 512

/* Writable private memory of the picture. */
typedef struct {
  uint64_t start, end;
  uint32_t first; /* the number of the range's first page in the picture */
  int protection;
} mehari_range;

/* Neighbouring hot pages, copied back in one go. */
typedef struct {
  uint64_t to, from, length; /* from 0: the contents are zeros */
} mehari_run;

enum {
  MEHARI_PAGE_ZERO = 1, /* zeros in the picture */
  MEHARI_PAGE_WARM = 2, /* was found written once */
  MEHARI_PAGE_HOT = 4, /* no longer tracked; copied back each time */
  MEHARI_PAGE_OWN = 8, /* differs from the template's picture: the copy is in `own` */
  MEHARI_PAGE_BASE = 16, /* equals a page of the base picture, and is mapped from there */
  MEHARI_PAGE_TIMES = 32 /* from this bit on: how often the page got hot, from 0 to 7 */
};

/* State of the kernel that a request may have changed. What `mehari_rewind_reach` does not find
 * changes only through calls, operators and subs that the server watches. */
enum {
  MEHARI_REACH_SIGNALS = 1, /* handlers, ignored and pending signals */
  MEHARI_REACH_TIMERS = 2,
  MEHARI_REACH_STANDING = 4, /* session, group, priority */
  MEHARI_REACH_THREADS = 8,
  MEHARI_REACH_CHILDREN = 16,
  MEHARI_REACH_FOLDER = 32, /* working directory and umask */
  MEHARI_REACH_FILES = 64, /* descriptors */
  MEHARI_REACH_NAME = 128, /* the process's name */
  MEHARI_REACH_USER = 256, /* user and groups */
  MEHARI_REACH_ALL = 511,
  MEHARI_REACH_LASTING = 512 /* not checked: after a noticed call, the process ends */
};

typedef struct {
  int number;
  int spare; /* a copy for a descriptor that a library may close and open again; -1: none */
  int flags; /* O_CLOEXEC or none */
  uint64_t device, inode;
  int64_t offset; /* the offset of a readable file; -1: none */
} mehari_known_file;

/* A signal's action in the kernel's form. */
typedef struct {
  uint64_t handler, flags, restorer, mask;
} mehari_disposition;

/* The users and groups of a process. */
typedef struct {
  uint32_t ids[6];
  int64_t group_count; /* negative: there are more groups than fit */
  uint32_t groups[MEHARI_REWIND_GROUPS];
} mehari_users;

/* A process's line of /proc/self/stat. */
typedef struct {
  uint64_t group, session, priority, threads, ignored, caught;
  char name[16];
} mehari_standing;

typedef struct {
  /* The template's part. */
  pid_t owner;        /* the process in whose name the picture is */
  int picture;        /* the memory file */
  const char *image;  /* its contents, read-only */
  uint32_t range_count, mapping_count, pages, wiped_count;
  /* Of `pages`, without empty ones: those in the picture itself, and those in the base picture. */
  uint32_t pages_held, pages_shared;
  uint64_t brk, stack_floor;
  /* From the page of the command line on, the stack must not belong to a file. */
  uint64_t arguments, arguments_end;
  bool compares; /* whether all memory is compared after every rewind */
  uint64_t most_pages; /* the limit of the pages of all pictures */
  unsigned reach;      /* MEHARI_REACH_*: what the loaded libraries are able to change */
  char dearest[64];    /* the library that demands most checks; empty: none */
  uint64_t watched_signals; /* those with a handler that perl cannot change unnoticed */
  mehari_range ranges[MEHARI_REWIND_RANGES];
  mehari_range wiped[MEHARI_REWIND_RANGES]; /* memory that a fork empties, and a rewind too */
  struct { uint64_t start, end; } mappings[MEHARI_REWIND_MAPPINGS];

  /* The child's part, set before its first request. */
  pid_t child;
  int own_picture; /* a memory file with the pages of `own` */
  int pagemap, statm, stat, tasks, maps, timers, files, home;
  bool may_change_user; /* whether the process has privileges that the kernel asks for */
  uint64_t libraries; /* how many libraries were ever loaded */
  char loaded[64];    /* the library that a request has loaded; empty: none has */
  uint64_t thread_count; /* plus a constant */
  uint64_t rseq, rseq_length; /* memory that the kernel writes at any time */
  void *back[5];
  uint32_t mxcsr;
  uint16_t control_word;
  uint64_t signal_mask, vm_size, vm_data, vm_pictures;
  uint32_t mode_mask;
  mehari_users users;
  mehari_standing standing;
  mehari_disposition dispositions[MEHARI_REWIND_SIGNALS];
  uint64_t caught; /* all signals with a handler */
  uint64_t ignored;
  uint64_t doubtful_signals; /* the script had its own handlers for these signals */
  mehari_known_file known[MEHARI_REWIND_FILES];
  char foreign_file[96]; /* a file that a library opened before the first request; empty: none */
  uint32_t known_count, lowest_free, own_count;
  uint64_t file_count; /* the kernel's count; 0: the kernel does not count */
  int held[MEHARI_REWIND_HELD], held_count; /* how many handles of perl hold each descriptor */

  /* Changes while requests are served. */
  uint32_t hot_count, run_count;
  uint64_t faults, rewinds, looks, cold, repairs;
  uint32_t replaced; /* processes that ended because of one of their requests */
  char replaced_for[160]; /* why the last of these processes ended */
  uint64_t wrong_pages, wrong_at;
  bool is_written; /* whether the last request wrote to other memory than the hot pages */
  bool refused; /* whether the process cannot be rewound now or later */
  bool is_refused_by_kernel; /* whether the reason holds for every script here */
  bool has_moved_break; /* whether malloc has moved the end of the heap */
  bool doubtful_files; /* whether the script used descriptors by their numbers */
  unsigned doubts; /* MEHARI_REACH_*: what the request may have changed */
  char spoiled[160]; /* why this process ends after its request; empty: it goes on */

  mehari_run runs[MEHARI_REWIND_HOT];
  uint32_t own_page[MEHARI_REWIND_OWN];
  uint64_t own_at[MEHARI_REWIND_OWN]; /* the pages' addresses */
  uint8_t state[MEHARI_REWIND_PAGES], quiet[MEHARI_REWIND_PAGES];
  uint32_t base_page[MEHARI_REWIND_PAGES]; /* of pages with MEHARI_PAGE_BASE: their numbers there */
  uint64_t entries[8192]; /* of pagemap */
  char text[1 << 20];     /* of /proc */
  char stack[256 << 10] __attribute__((aligned(4096)));
  char own[MEHARI_REWIND_OWN][4096] __attribute__((aligned(4096)));
} mehari_rewind;

/* stack.c: the stack aside, and the return to a saved place. */
void mehari_rewind_on_own_stack(void (*work)(mehari_rewind *), mehari_rewind *rewind);
/* False once `work` is done; true after each return. */
bool mehari_rewind_mark(mehari_rewind *rewind, void (*work)(mehari_rewind *));
/* Called on the stack aside. */
void mehari_rewind_return(mehari_rewind *rewind) __attribute__((noreturn));

/* budget.c. False: there is no room for a picture of this number of pages. */
bool mehari_pictures_reserve(pid_t owner, uint32_t pages, uint64_t most);

/* base.c: the base picture. NULL: there is none. Nobody may write to it. */
const mehari_rewind *mehari_rewind_base(void);
/* Returns the number of the address's page in the base picture. MEHARI_REWIND_PAGES: the base
 * picture has no such page. `hint`: the number of the range that has the last page. */
uint32_t mehari_rewind_base_page(uint64_t at, uint32_t *hint);

/* picture.c: called in the template, and on the stack aside. */
int mehari_rewind_make_file(void); /* for a picture */
/* Returns NULL, or the reason for which there can be no picture. `picture` is the file. */
const char *mehari_rewind_lay_out(mehari_rewind *rewind);
bool mehari_rewind_fill(mehari_rewind *rewind); /* copies the memory and seals the file */
void mehari_rewind_drop_file(mehari_rewind *rewind); /* closes the file of a refused picture */
void mehari_rewind_take(mehari_rewind *rewind);

/* reach.c */
/* Calls `see` for each import by which a library reaches state (MEHARI_REACH_*) that neither perl
 * nor the server would report. Imports whose calls are noticed do not count. */
typedef void mehari_see_import(void *to, const char *library, const char *import, unsigned reach);
void mehari_rewind_each_import(mehari_see_import *see, void *to);
/* Lets the calls of such imports be noticed, where possible. Returns what the others reach. */
unsigned mehari_rewind_reach(void);
void mehari_rewind_last_library(char *name, size_t size); /* the last part of its path */
uint64_t mehari_rewind_libraries(void); /* how many libraries were ever loaded */

/* calls.c */
struct dl_phdr_info;
/* Lets calls through a slot of the library be noticed. False: the slot cannot be written. */
bool mehari_rewind_watch_calls(const struct dl_phdr_info *library, uint64_t offset, unsigned reach);
bool mehari_rewind_watches(const struct dl_phdr_info *library, uint64_t offset);
/* Called before the first request. Returns what libraries reach by slots that are no longer
 * watched. */
unsigned mehari_rewind_forget_calls(void);
unsigned mehari_rewind_called(void); /* what the request's calls may have changed */

/* checks.c */
/* Notes the library that demands most checks. */
void mehari_rewind_note_dearest(mehari_rewind *rewind);
/* Writes the names of the checks that are made after each rewind. */
void mehari_rewind_write_checks(const mehari_rewind *rewind, char *checks, size_t size);
/* Measures these checks and tells what demands them. Stops the timers of the process. */
typedef void mehari_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
void mehari_rewind_tell_checks(mehari_rewind *rewind, mehari_tell *tell);

#ifdef pTHX
void mehari_rewind_take_base(pTHX_ uint64_t most_pages); /* base.c */
void mehari_rewind_watch_pid(pTHX_ mehari_rewind *rewind); /* process_number.c */
/* variables.c */
void mehari_rewind_watch_variables(pTHX); /* in the template */
void mehari_rewind_watch_handlers(pTHX_ mehari_rewind *rewind); /* in the template */
unsigned mehari_rewind_changed_variables(pTHX); /* MEHARI_REACH_* */
/* The signals with a handler of the process that the request may have changed, as bits. */
uint64_t mehari_rewind_changed_handlers(pTHX_ const mehari_rewind *rewind);
#endif

/* memory.c: on the stack aside. */
/* Whether a page stays the process's own: the kernel writes to it, or shows it as the command
 * line. */
bool mehari_rewind_is_of_process(const mehari_rewind *rewind, uint64_t at);
void mehari_rewind_note_difference(mehari_rewind *rewind);
/* Begins a rewind. Whether the request wrote to, or mapped, other memory than the hot pages. */
bool mehari_rewind_looks(mehari_rewind *rewind);
void mehari_rewind_put_back_memory(mehari_rewind *rewind, bool looks);

/* mappings.c: the memory map. */
/* Reads the ranges. False: there are more than the arrays hold. */
bool mehari_rewind_read_ranges(mehari_rewind *rewind);
bool mehari_rewind_read_mappings(mehari_rewind *rewind);
/* Called in the child after mehari_rewind_read_mappings: whether the picture has all memory. */
bool mehari_rewind_has_all_memory(const mehari_rewind *rewind);
bool mehari_rewind_map_picture(mehari_rewind *rewind);
bool mehari_rewind_map_own(mehari_rewind *rewind); /* the child's own picture over the template's */
void mehari_rewind_note_sizes(mehari_rewind *rewind);
void mehari_rewind_put_back_mappings(mehari_rewind *rewind, bool looks);

/* shadow.c: the memory of AddressSanitizer, in a build with it. */
#ifdef MEHARI_ADDRESS_SANITIZER
bool mehari_rewind_is_shadow(uint64_t at);
void mehari_rewind_find_shadow(const mehari_range *range, uint64_t *start, uint64_t *end);
/* Called after memory was unmapped: the next mapping there may be used as a whole. */
void mehari_rewind_forget_shadow(uint64_t start, uint64_t end);
/* Makes a writable mapping a reserved one if it was that before. */
void mehari_rewind_shrink_reserve(const mehari_rewind *rewind, uint64_t start, uint64_t end);

/* The sanitizer's memcpy and its like refuse memory that nobody may use. */
static inline void mehari_rewind_copy(char *to, const char *from, size_t length)
{
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(length) : : "memory");
}
static inline void mehari_rewind_empty(char *to, size_t length)
{
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(length) : "a"(0) : "memory");
}
static inline bool mehari_rewind_equal(const char *a, const char *b, size_t length)
{
  size_t at = 0;
  while (at < length && a[at] == b[at])
    at++;
  return at == length;
}
#else
static inline bool mehari_rewind_is_shadow(uint64_t at) { return (void)at, false; }
static inline void mehari_rewind_forget_shadow(uint64_t start, uint64_t end) { (void)start, (void)end; }
static inline void mehari_rewind_shrink_reserve(const mehari_rewind *rewind, uint64_t start, uint64_t end) { (void)rewind, (void)start, (void)end; }
static inline void mehari_rewind_copy(char *to, const char *from, size_t length) { memcpy(to, from, length); }
static inline void mehari_rewind_empty(char *to, size_t length) { memset(to, 0, length); }
static inline bool mehari_rewind_equal(const char *a, const char *b, size_t length) { return memcmp(a, b, length) == 0; }
#endif

/* files.c, process.c */
/* Returns NULL, or the reason for which the files cannot be rewound. */
const char *mehari_rewind_open_files(mehari_rewind *rewind);
void mehari_rewind_put_back_files(mehari_rewind *rewind);
void mehari_rewind_note_process(mehari_rewind *rewind);
void mehari_rewind_put_back_process(mehari_rewind *rewind);

/* proc.c: system calls and texts of /proc without libc. */
#ifndef SYS_close_range
#define SYS_close_range 436 /* of all processors; glibc before 2.34 does not name the call */
#endif
long mehari_system_call(long number, long a, long b, long c, long d, long e, long f);
#define KERNEL(number, ...) KERNEL_SIX(number, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define KERNEL_SIX(number, a, b, c, d, e, f, ...) mehari_system_call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
/* Reads from the start and adds a NUL. */
size_t mehari_proc_read(int file, char *into, size_t size);
/* Does the same for a text of one line, which one system call returns whole. */
size_t mehari_proc_read_once(int file, char *into, size_t size);
uint64_t mehari_proc_number(const char **at, unsigned base);
const char *mehari_proc_skip(const char *at, int words);
void mehari_rewind_refuse(mehari_rewind *rewind, const char *why); /* the first reason counts */

#endif
