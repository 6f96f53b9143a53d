/* The processes of a site: zygote, worker, template. */
#ifndef MEHARI_PROCESS_H
#define MEHARI_PROCESS_H

#include "mehari.h"
#include "mailbox/mailbox.h"

/* zygote.c, worker.c: what each process does. */
void mehari_zygote_run(pTHX_ int control, int bell, int bell_event) __attribute__((noreturn));
void mehari_worker_run(pTHX_ int mailbox, int descriptors, int bell, int bell_event) __attribute__((noreturn));
extern bool mehari_retire; /* whether the worker wants to be replaced after this request */
/* Prepares the layers, %ENV and signals of a process that serves requests. */
void mehari_process_open(pTHX_ const char *name, int mailbox, int descriptors, int bell, int bell_event);

/* fork.c: the rung `fork`, seen from the worker. */
/* The progress of a request on the rung `fork`. MEHARI_FORK_DONE: its process has sent the
 * request's DONE itself. */
typedef enum { MEHARI_FORK_NOT_BEGUN, MEHARI_FORK_SERVED, MEHARI_FORK_DONE } mehari_forked;
mehari_forked mehari_fork_serve(bool to_its_end); /* NOT_BEGUN: no process is available */
void mehari_fork_forward(int signal); /* called by the signal handler of stack.c */

/* fork.c, template.c: a worker asks the zygote for a template, and sends it orders. */
typedef struct {
  uint64_t number;
  uint32_t frame; /* the frame's offset in the mailbox */
  bool has_body_file;
  bool carries_frame; /* the frame is in a file: the request as the handlers have left it */
  bool to_its_end; /* no other process has work for the request, so the child sends its DONE */
  mehari_taken taken; /* the child may keep the mailbox for the script's next requests */
} mehari_order;
typedef struct {
  uint64_t order;
  pid_t child;
  int32_t status; /* as waitpid gives it */
  bool was_lent; /* the child had the mailbox, so `taken` holds */
  mehari_taken taken;
} mehari_ending; /* the mailbox tells how far the request that was taken last has come */
enum {
  MEHARI_TO_FORK,
  MEHARI_TO_REWIND, /* its child serves one request after another, if possible */
  MEHARI_TO_REWIND_WHERE_ROOM /* the same, while there is room for its picture: the rung `auto` */
};
typedef struct {
  pid_t worker;
  int32_t to_rewind; /* MEHARI_TO_* */
  uint64_t mark; /* the mark of the script's file */
} mehari_wanted; /* an order of a template; the name of the script's file follows */
int mehari_fork_manner(const mehari_request *frame); /* MEHARI_TO_* */
extern int mehari_stem_socket; /* the socket to the zygote */
/* The mailbox, the socket of the template's orders, the worker's socket to the front. */
#define MEHARI_TEMPLATE_FILES 3
void mehari_template_run(pTHX_ const char *file, const mehari_wanted *wanted, const int files[MEHARI_TEMPLATE_FILES], int bell, int bell_event) __attribute__((noreturn));
/* The process of a request has answered. */
void mehari_template_child_leaves(pTHX) __attribute__((noreturn));
/* Called in a process that the script forked: the worker does not wait for that process. */
void mehari_template_child_forked(void);

/* compilation.c: a script in a process that has run nothing else. NULL: compiling it has effects
 * (shared memory at `effect` gets the line of the first one, 0 if that is unknown) or fails, so
 * each request compiles it. */
struct mehari_script *mehari_compilation_open(pTHX_ const char *file, uint32_t *effect);

/* explanation.c: in the zygote. What a template would find out about a script is reported in
 * EXPLAINED messages by a process of its own. The last message follows that process's end. */
void mehari_explanation_fork(pTHX_ const char *file, uint32_t number, const int *files, int count);
void mehari_explanation_ended(pid_t process, int status);
/* control.c */
void mehari_zygote_report(const mehari_control *head, const char *text);

/* watch.c: a script's changes of its process. */
enum {
  MEHARI_TOUCHED_DESCRIPTORS = 1,
  MEHARI_TOUCHED_MASK = 2,
  MEHARI_TOUCHED_TIMERS = 4,
  MEHARI_TOUCHED_LIMITS = 8,
  MEHARI_TOUCHED_PROCESS = 16,
  MEHARI_TOUCHED_THREADS = 32
};
extern unsigned mehari_touched; /* what the current request has changed */
void mehari_watch_open(void); /* called once per worker */
void mehari_watch_loaded(pTHX);
void mehari_watch_put_back(void);
/* Marks a descriptor as the server's own, so that no script can close it by its number. */
void mehari_descriptor_claim(int file);
void mehari_descriptor_release(int file);
bool mehari_descriptor_is_own(int file);

/* pages.c: the zygote's memory in large pages. */
void mehari_pages_align(void); /* called before the first module is loaded */
void mehari_pages_enlarge(void); /* called after the last module is loaded */

#endif
