/* The processes of a site: zygote, worker, template. */
#ifndef MEHARI_PROCESS_H
#define MEHARI_PROCESS_H

#include "mehari.h"
#include "mailbox/mailbox.h"

/* zygote.c, worker.c: what each process does. */
void mehari_zygote_run(pTHX_ int control, int bell, int bell_event) __attribute__((noreturn));
void mehari_worker_run(pTHX_ int mailbox, int descriptors, int bell, int bell_event) __attribute__((noreturn));
extern bool mehari_retire; /* the worker wants to be replaced after this request */
/* The layers, %ENV and signals of a process that serves. */
void mehari_process_open(pTHX_ const char *name, int mailbox, int descriptors, int bell, int bell_event);

/* fork.c: the rung `fork`, seen from the worker. */
/* How far the process of a request on the rung `fork` came. MEHARI_FORK_DONE: it sent the
 * request's DONE itself. */
typedef enum { MEHARI_FORK_NOT_BEGUN, MEHARI_FORK_SERVED, MEHARI_FORK_DONE } mehari_forked;
mehari_forked mehari_fork_serve(bool to_its_end); /* NOT_BEGUN: no process could be had */
void mehari_fork_forward(int signal); /* from the stack's signal handler */

/* fork.c, template.c: a worker asks the zygote for a template, and sends it orders. */
typedef struct {
  uint64_t number;
  uint32_t frame; /* offset in the mailbox */
  bool has_body_file;
  bool carries_frame; /* its own, in a file: the request as handlers have left it */
  bool to_its_end; /* nobody else has anything to do for the request: the child puts its DONE */
  mehari_taken taken; /* the child may keep the mailbox for the script's next requests */
} mehari_order;
typedef struct {
  uint64_t order;
  pid_t child;
  int32_t status; /* as waitpid gives it */
  bool done;      /* the DONE of the child's last request is out */
  bool claimed;   /* the request of the frame is another script's; the child has claimed it and not begun it */
  uint32_t frame; /* of the request that the ending is about; 0: of none */
  mehari_taken taken;
} mehari_ending;
enum {
  MEHARI_TO_FORK,
  MEHARI_TO_REWIND,           /* its child serves one request after the other, where that can be */
  MEHARI_TO_REWIND_WHERE_ROOM /* the same, while there is room for its picture: the rung `auto` */
};
typedef struct {
  pid_t worker;
  int32_t to_rewind; /* MEHARI_TO_* */
  uint64_t mark;     /* of the script's file */
} mehari_wanted; /* a template; the script's file follows */
int mehari_fork_manner(const mehari_request *frame); /* MEHARI_TO_* */
extern int mehari_stem_socket; /* to the zygote */
#define MEHARI_TEMPLATE_FILES 3 /* the mailbox, the socket of its orders, the worker's socket to the front */
void mehari_template_run(pTHX_ const char *file, const mehari_wanted *wanted, const int files[MEHARI_TEMPLATE_FILES], int bell, int bell_event) __attribute__((noreturn));
void mehari_template_child_leaves(pTHX) __attribute__((noreturn)); /* the request's process has answered */
void mehari_template_child_forked(void); /* in a process of the script's: the worker waits for us, not for it */

/* watch.c: a script's changes of its process. */
enum {
  MEHARI_TOUCHED_DESCRIPTORS = 1,
  MEHARI_TOUCHED_MASK = 2,
  MEHARI_TOUCHED_TIMERS = 4,
  MEHARI_TOUCHED_LIMITS = 8,
  MEHARI_TOUCHED_PROCESS = 16,
  MEHARI_TOUCHED_THREADS = 32
};
extern unsigned mehari_touched; /* by the request being served */
void mehari_watch_open(void); /* once a worker */
void mehari_watch_loaded(pTHX);
void mehari_watch_put_back(void);
void mehari_descriptor_claim(int file); /* one of our own: no script can close it by its number */
void mehari_descriptor_release(int file);
bool mehari_descriptor_is_own(int file);

/* pages.c: the zygote's memory in large pages. */
void mehari_pages_align(void);   /* before anything is loaded */
void mehari_pages_enlarge(void); /* once everything is */

#endif
