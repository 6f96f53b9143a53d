/* A template of the rung `fork`: the zygote forks this process, which compiles one script in a
 * clean interpreter and keeps a child ready for the next order.
 *
 * The child compiles a script whose compilation has effects (compilation.c). For a handler or an
 * application with `PerlIsolation rewind`, template and child are opened like a worker, and the
 * child runs all phases of a request. */
#include "process/process.h"
#include "trace/trace.h"
#include "environment/environment.h"
#include "interpreter/interpreter.h"
#include "mailbox/mailbox.h"
#include "phases/phases.h"
#include "response/response.h"
#include "rewind/rewind.h"
#include "script/script.h"
#include "stdio/standard.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int orders = -1; /* the socket to the worker */
static struct stat orders_identity;
static pid_t template_pid;
static const char *task;    /* the script's file, the handler's name or the application's file */
static uint64_t made_from;  /* the mark of the script's file */
static int manner;          /* MEHARI_TO_* */
static bool rewinds; /* whether the template's child serves more than one request */
/* The reason for which a child serves only one request although it should serve more; NULL: no
 * reason. */
static const char *as_fork;

/* The descriptors of an order. -1: absent. */
typedef struct {
  int body, frame;
} order_files;

/* Reads the next order without taking it from the socket. */
static bool peek_order(mehari_order *order, int flags)
{
  ssize_t got;
  do
    got = recv(orders, order, sizeof *order, MSG_PEEK | flags);
  while (got < 0 && errno == EINTR);
  return got == sizeof *order;
}

static bool receive_order(mehari_order *order, order_files *files)
{
  int received[2] = {-1, -1}, count = 0;
  struct iovec bytes = {order, sizeof *order};
  union { struct cmsghdr header; char space[CMSG_SPACE(sizeof received)]; } control;
  struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
  ssize_t got;
  do
    got = recvmsg(orders, &message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  if (got != sizeof *order)
    return false;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len <= CMSG_LEN(sizeof received))
    memcpy(received, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
  files->body = order->has_body_file ? received[count++] : -1;
  files->frame = order->carries_frame ? received[count] : -1;
  return true;
}

/* The requests that a script on the rung `auto` gets before its picture is taken. Until then the
 * script runs as on the rung `fork`, because a picture takes as long as many requests. */
#define BEFORE_PICTURE 3

#define USELESS 3 /* children in a row that served only one request: rewinding then stops */

#define UNKNOWN_TURN 72 /* the status of a process that finds `turn` overwritten */
#define TURN_MARK UINT64_C(0x6d6568617269)
#define NOT_NEEDED 74 /* the status of a child whose worker needs this script no more */

/* The state that survives a rewind and that the template reads after a child has died. The mailbox
 * tells how far the child has come with the request (mailbox/progress.c). */
static struct {
  uint64_t mark; /* TURN_MARK, unless a script has overwritten this memory */
  /* The order whose end the worker waits for; 0: none. This number is set before the order is taken
   * from the socket, and cleared after the report of the order's end. */
  _Atomic uint64_t owed;
  _Atomic bool is_lent;         /* the child has the worker's mailbox, and `taken` holds */
  _Atomic bool used_descriptor; /* descriptor 1's file is not for the next request */
  /* Whether the log has the reason for which the script runs as on the rung `fork`. */
  _Atomic bool has_logged_rung;
  mehari_taken taken;
} *turn;

/* Reports the end of the order. If a child dies in this function, the end is reported twice, and
 * the worker ignores the second report. */
static bool tell_end(pid_t child, int status)
{
  mehari_ending ending = {.order = atomic_load(&turn->owed), .child = child, .status = status, .was_lent = atomic_load(&turn->is_lent), .taken = turn->taken};
  if (send(orders, &ending, sizeof ending, MSG_NOSIGNAL) != sizeof ending)
    return false;
  atomic_store(&turn->owed, 0);
  return true;
}

MEHARI_WRITTEN static bool to_its_end; /* whether the child sends DONE for its request */
MEHARI_WRITTEN bool mehari_is_template_child;

/* Whether the descriptor of the orders is still the same socket. A script may have closed the
 * descriptor by its number and opened another file under the same number. */
static bool orders_are_ours(void)
{
  struct stat now;
  return fstat(orders, &now) == 0 && now.st_dev == orders_identity.st_dev && now.st_ino == orders_identity.st_ino;
}

void mehari_template_child_forked(void)
{
  if (mehari_is_template_child && orders_are_ours())
    close(orders);
}

/* Returns the log level for a process that cannot be rewound. The level is higher if the
 * configuration asks for `rewind` by name. */
static int level_of_refusal(void) { return manner == MEHARI_TO_REWIND_WHERE_ROOM ? MEHARI_LOG_INFO : MEHARI_LOG_NOTICE; }

/* Reports to the front the rung on which the script runs. Also logs the rung if it is not the
 * configured rung. */
static void tell_rung(void)
{
  mehari_text file = {task, strlen(task)};
  if (rewinds)
    mehari_rewind_report(file);
  if (!as_fork || atomic_exchange(&turn->has_logged_rung, true))
    return;
  if (!mehari_rewind_is_refused_here())
    mehari_logf(level_of_refusal(), "%s: runs as on the rung `fork`: %s", task, as_fork);
  else if (mehari_pictures_say_refusal())
    mehari_logf(MEHARI_LOG_WARN, "this processor, kernel or container does not allow the rung rewind (%s): scripts on it and on auto run as on fork", as_fork);
  mehari_rewind_report_refusal(file, as_fork);
}

void mehari_template_child_leaves(pTHX_ uint16_t detail)
{
  mehari_key_open();
  if (turn->mark != TURN_MARK)
    _exit(UNKNOWN_TURN);
  bool used_descriptor = mehari_stdout_was_written() && !(rewinds && mehari_stdout_empty());
  atomic_store(&turn->used_descriptor, used_descriptor);
  if (mehari_touched & MEHARI_TOUCHED_FLAGS)
    mehari_watch_put_back_flags();
  atomic_store(mehari_mailbox_child(), 0);
  tell_rung();
  mehari_trace_end();
  if (to_its_end)
    mehari_mailbox_done(detail);
  else
    mehari_ring_publish();
  bool stays = rewinds && !used_descriptor && !mehari_retire && !mehari_replace;
  if (!(stays && atomic_load(&turn->is_lent)) && orders_are_ours())
    tell_end(getpid(), 0);
  if (stays)
    mehari_rewind_end(aTHX);
  _exit(0);
}

static void obey(void)
{
  mehari_order order;
  order_files files;
  if (getppid() != template_pid || !peek_order(&order, 0))
    _exit(NOT_NEEDED);
  atomic_store(&turn->is_lent, false);
  atomic_store(&turn->owed, order.number);
  if (!receive_order(&order, &files))
    _exit(71);
  to_its_end = order.to_its_end;
  turn->taken = order.taken;
  /* The worker keeps the file of a body until the end of the order, so with such a file it does not
   * lend the mailbox. */
  atomic_store(&turn->is_lent, rewinds && to_its_end && !order.has_body_file);
  mehari_mailbox_begin();
  mehari_mailbox_adopt(mehari_mailbox_frame(order.frame), files.body);
  if (order.carries_frame && !mehari_mailbox_adopt_carried(files.frame))
    _exit(71);
  mehari_mailbox_map_body();
}

/* Whether the worker would give the request to this process. */
static bool is_for_us(const mehari_request *frame)
{
  struct stat now;
  mehari_mailbox_adopt(frame, -1);
  mehari_text wanted = mehari_request_text(MEHARI_TEXT_TASK);
  if (mehari_fork_manner(frame) != manner || wanted.length != strlen(task) || memNE(wanted.at, task, wanted.length))
    return false;
  if (manner == MEHARI_TO_SERVE)
    return true;
  if (frame->text[MEHARI_TEXT_SETTINGS].length)
    return false;
  return frame->file_mark ? frame->file_mark == made_from : stat(task, &now) == 0 && S_ISREG(now.st_mode) && mehari_mark(&now) == made_from;
}

/* Takes the next request from the lent mailbox. False: the request is for another script, or the
 * worker must end or be inspected. In these cases the worker gets its mailbox back. */
static bool take_from_mailbox(void)
{
  const mehari_request *frame;
  while (!(frame = mehari_mailbox_claim()))
    if (mehari_mailbox_wants_inspection() || !mehari_mailbox_wait())
      break;
  if (!frame || !is_for_us(frame)) {
    if (!tell_end(getpid(), 0))
      _exit(0);
    return false;
  }
  to_its_end = true;
  mehari_mailbox_begin();
  mehari_mailbox_open(frame);
  return true;
}

/* Starts a process group for the script's own processes. */
static void lead_group(void) { setpgid(0, 0); }

/* Waits for a request and serves it. A rewound child continues at the point at which it waits. */
static void await_request(pTHX_ mehari_script *script) __attribute__((noreturn));
static void await_request(pTHX_ mehari_script *script)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* without its template the child's end would stay unnoticed */
  pid_t self = getpid();
  if (rewinds) {
    lead_group();
    mehari_key_take();
    mehari_key_guard(turn, sizeof *turn);
    mehari_rewind_begin(aTHX);
    atomic_store(&turn->used_descriptor, false);
  }
  if (!atomic_load(&turn->owed) || !atomic_load(&turn->is_lent) || !take_from_mailbox())
    obey();
  if (!rewinds)
    lead_group();
  atomic_store(mehari_mailbox_child(), self);
  mehari_serving = mehari_is_template_child = true;
  mehari_key_close();
  if (manner == MEHARI_TO_SERVE)
    mehari_worker_serve_once(aTHX);
  mehari_program_run(aTHX_ script, task);
}

/* Fails the request, because no process is available. The next request tries again. */
static void refuse_request(void)
{
  mehari_order order;
  order_files files;
  if (!receive_order(&order, &files))
    _exit(0);
  if (files.body >= 0)
    close(files.body);
  if (files.frame >= 0)
    close(files.frame);
  atomic_store(&turn->is_lent, false);
  atomic_store(&turn->owed, order.number);
  tell_end(-1, -1);
}

/* Decides by a child's end whether the template still rewinds. If the child must be replaced after
 * each request, a fork for each request is cheaper. */
static void judge_end(void)
{
  static int useless;
  const char *why = mehari_rewind_refusal();
  useless = mehari_rewind_has_rewound() ? 0 : useless + 1;
  if (useless < USELESS && !mehari_rewind_was_refused())
    return;
  rewinds = false;
  as_fork = why ? why : "it ends its process";
  if (why)
    return;
  /* Otherwise the next process would log the same reason again. */
  atomic_store(&turn->has_logged_rung, true);
  mehari_logf(level_of_refusal(), "%s: runs as on the rung `fork`: %s", task, as_fork);
}

/* Ends the template, because its worker needs it no more. */
static void leave(pTHX) __attribute__((noreturn));
static void leave(pTHX)
{
  if (manner == MEHARI_TO_SERVE)
    mehari_worker_leave(aTHX);
  _exit(0);
}

/* Reports the end of a child that died before it reported the end of its order. */
static void tell_death(pid_t child, int status)
{
  mehari_order next;
  pid_t expected = child;
  atomic_compare_exchange_strong(mehari_mailbox_child(), &expected, 0);
  if (!atomic_load(&turn->owed))
    return;
  bool is_still_there = peek_order(&next, MSG_DONTWAIT) && next.number == atomic_load(&turn->owed);
  if (!is_still_there) /* an order that is still in the socket goes to the next child */
    tell_end(child, status);
}

/* Forks one child after another. A child exists before its request comes, so no request waits for
 * the fork. */
static void keep_child(pTHX_ mehari_script *script)
{
  int status = -1;
  atomic_store(&turn->owed, 0);
  atomic_store(&turn->used_descriptor, false);
  pid_t child = mehari_fork_own();
  if (!child)
    await_request(aTHX_ script);
  mehari_in_child = false;
  mehari_may_have_spawned = false;
  if (child < 0) {
    refuse_request();
    return;
  }
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  if (!atomic_load(&turn->owed) && WIFEXITED(status) && WEXITSTATUS(status) == NOT_NEEDED)
    leave(aTHX);
  /* Without this memory the template does not know its orders. Its end tells the worker. */
  if (turn->mark != TURN_MARK || (rewinds && !mehari_rewind_is_sound()))
    _exit(UNKNOWN_TURN);
  tell_death(child, status);
  mehari_watch_put_back_flags();
  if (status || atomic_load(&turn->used_descriptor))
    mehari_output_fresh_descriptor();
  if (rewinds)
    judge_end();
}

/* Prepares %ENV for requests like the first, which waits for the template. */
static void expect_variables(pTHX)
{
  mehari_order first;
  if (peek_order(&first, 0))
    mehari_environment_expect(aTHX_ mehari_mailbox_frame(first.frame));
}

/* Resolves the handlers of the first request, so that no request does it. The worker waits for the
 * template, so the request stays where it is. */
static void prepare_handlers(pTHX_ void *argument)
{
  mehari_order first;
  PERL_UNUSED_ARG(argument);
  if (peek_order(&first, 0))
    mehari_phases_prepare(aTHX_ mehari_mailbox_frame(first.frame));
}

/* Opens the process as a worker is opened. PSGI applications were loaded in the zygote. */
static void open_for_handlers(pTHX)
{
  mehari_enter_directory(NULL);
  mehari_worker_open(aTHX);
  mehari_guard(aTHX_ prepare_handlers, NULL, NULL);
  mehari_environment_reserve(aTHX);
  PerlIO_flush((PerlIO *)NULL);
  mehari_destructors_note(aTHX);
}

static void open_picture(pTHX)
{
  as_fork = mehari_rewind_open(aTHX_ manner == MEHARI_TO_REWIND_WHERE_ROOM);
  rewinds = !as_fork;
}

/* Returns the number of requests before the picture is taken. Returns -1 if none is taken. */
static int requests_before_picture(void)
{
  if (manner == MEHARI_TO_FORK)
    return -1;
  return manner == MEHARI_TO_REWIND_WHERE_ROOM ? BEFORE_PICTURE : 0;
}

void mehari_template_run(pTHX_ const char *what, const mehari_wanted *wanted, const int files[MEHARI_TEMPLATE_FILES], int bell, int bell_event)
{
  mehari_process_open(aTHX_ "mehari-template", files[0], files[1], bell, bell_event);
  orders = files[1];
  fstat(orders, &orders_identity);
  template_pid = getpid();
  mehari_front_socket = files[2];
  turn = mmap(NULL, sizeof *turn, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (turn == MAP_FAILED)
    _exit(1);
  turn->mark = TURN_MARK;
  mehari_mailbox_keep_taken(&turn->taken);
  mehari_descriptor_claim(mehari_front_socket);
  task = what;
  made_from = wanted->mark;
  manner = wanted->manner;
  mehari_script *script = NULL;
  if (manner != MEHARI_TO_FORK)
    mehari_rewind_tidy(aTHX_ false);
  if (manner == MEHARI_TO_SERVE)
    open_for_handlers(aTHX);
  else {
    script = mehari_compilation_open(aTHX_ task, NULL);
    mehari_learning_open(aTHX_ task);
  }
  mehari_cgi_prepare(aTHX);
  mehari_ends_prepare(aTHX);
  if (manner != MEHARI_TO_FORK && manner != MEHARI_TO_SERVE)
    expect_variables(aTHX);
  for (int left = requests_before_picture();; left -= left >= 0) {
    if (left == 0)
      open_picture(aTHX);
    keep_child(aTHX_ script);
  }
}
