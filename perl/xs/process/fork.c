/* The rung `fork`: one process per request, forked from a template that has compiled the script.
 * `PerlIsolation rewind`: the same for a handler or an application, whose template has loaded it.
 *
 * The worker asks the zygote for a template of each script, because no script has run in the
 * zygote, but any script may have run in the worker. The worker keeps the most recent templates and
 * orders a child for each request. The child answers through the worker's own mailbox, and the
 * worker waits for the child's end. */
#include "process/process.h"
#include "response/response.h"
#include "rewind/rewind.h"
#include "script/script.h"
#include "trace/trace.h"
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEMPLATES 64 /* as in server/pool/src/template_limit.rs */

typedef struct {
  char file[4097];
  uint64_t made_from; /* the file's mark */
  bool alive;
  int manner; /* MEHARI_TO_* */
  int socket;
  uint64_t used;
} template;

int mehari_stem_socket = -1;
MEHARI_LARGE static template templates[TEMPLATES];
static uint64_t clock_hand;

void mehari_fork_forward(int signal)
{
  pid_t child = atomic_load(mehari_mailbox_child());
  if (child > 1)
    kill(child, signal);
}

static void drop_template(template *this)
{
  if (this->alive) {
    mehari_descriptor_release(this->socket);
    close(this->socket); /* the template notices that the socket is closed and exits */
  }
  this->alive = false;
}

bool mehari_stem_send(mehari_wanted wanted, const char *file, const int files[MEHARI_TEMPLATE_FILES])
{
  const size_t size = MEHARI_TEMPLATE_FILES * sizeof *files;
  struct iovec parts[] = {{&wanted, sizeof wanted}, {(void *)file, strlen(file)}};
  union { struct cmsghdr header; char space[CMSG_SPACE(MEHARI_TEMPLATE_FILES * sizeof(int))]; } control;
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2, .msg_control = control.space, .msg_controllen = sizeof control.space};
  control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(size)};
  memcpy(CMSG_DATA(&control.header), files, size);
  return sendmsg(mehari_stem_socket, &message, MSG_NOSIGNAL) > 0;
}

/* Asks the zygote to fork a template. The template gets the worker's mailbox and one end of a
 * socket. */
static bool ask_zygote(const char *file, uint64_t mark, int manner, int socket)
{
  return mehari_stem_send((mehari_wanted){getpid(), manner, mark}, file, (int[]){mehari_mailbox_file(), socket, mehari_front_socket});
}

static bool start_template(template *this, const char *file, uint64_t mark, int manner)
{
  int ends[2];
  if (!MEHARI_COPY(this->file, ((mehari_text){file, strlen(file)})) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
    return false;
  bool asked = ask_zygote(file, mark, manner, ends[1]);
  close(ends[1]);
  if (!asked) {
    close(ends[0]);
    return false;
  }
  this->made_from = mark;
  this->manner = manner;
  this->alive = true;
  this->socket = ends[0];
  mehari_descriptor_claim(this->socket);
  return true;
}

/* Returns how many templates this worker may keep, as the front has computed. */
static int templates_most(void)
{
  static int most;
  dTHX;
  if (!most) {
    SV *told = mehari_fact(aTHX_ "templates");
    most = SvOK(told) ? SvIV(told) : TEMPLATES;
  }
  return most < 1 || most > TEMPLATES ? TEMPLATES : most;
}

static template *find_template(const char *file, uint64_t mark, int manner)
{
  template *oldest = &templates[0];
  const int most = templates_most();
  for (int i = 0; i < most; i++) {
    template *this = &templates[i];
    if (this->alive && this->manner == manner && strEQ(this->file, file)) {
      if (this->made_from == mark)
        return this;
      drop_template(this);
    }
    if (!this->alive || (oldest->alive && this->used < oldest->used))
      oldest = this;
  }
  drop_template(oldest);
  return start_template(oldest, file, mark, manner) ? oldest : NULL;
}

int mehari_fork_manner(const mehari_request *frame)
{
  if (mehari_is_template_child) /* the template serves one request, so a picture would not pay */
    return MEHARI_TO_FORK;
  if (frame->flags & MEHARI_FLAG_REWOUND)
    return MEHARI_TO_SERVE;
  return frame->task == MEHARI_TASK_REWIND ? MEHARI_TO_REWIND : frame->task == MEHARI_TASK_AUTO ? MEHARI_TO_REWIND_WHERE_ROOM : MEHARI_TO_FORK;
}

/* Makes a file with the request as the handlers have changed it, because only this process has the
 * changed request. -1: there is no room for a file. */
static int file_of_frame(void)
{
  const mehari_request *frame = mehari_now.frame;
  int file = memfd_create("mehari-request", MFD_CLOEXEC);
  if (file < 0 || write(file, frame, frame->length) == (ssize_t)frame->length)
    return file;
  close(file);
  return -1;
}

static bool send_with_files(int socket, mehari_order now, const int *files, int count)
{
  struct iovec bytes = {&now, sizeof now};
  union { struct cmsghdr header; char space[CMSG_SPACE(2 * sizeof(int))]; } control;
  struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};
  if (count) {
    message.msg_control = control.space;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(count * sizeof(int))};
    memcpy(CMSG_DATA(&control.header), files, count * sizeof(int));
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL) == sizeof now;
}

static bool send_order(const template *this, bool to_its_end)
{
  mehari_order now = {this->used, mehari_mailbox_offset(), mehari_now.body_file >= 0, !mehari_mailbox_holds(mehari_now.frame), to_its_end, *mehari_mailbox_taken()};
  int files[2], count = 0, frame = -1;
  if (now.has_body_file)
    files[count++] = mehari_now.body_file;
  if (now.carries_frame) {
    frame = file_of_frame();
    if (frame < 0) {
      mehari_logf(MEHARI_LOG_ERROR, "the request as changed by handlers cannot be passed to its process: %s", strerror(errno));
      return false;
    }
    files[count++] = frame;
  }
  bool sent = send_with_files(this->socket, now, files, count);
  if (frame >= 0)
    close(frame);
  return sent;
}

#define UNKNOWN_STATUS (-1) /* the template died with its child; neither WIFEXITED nor WIFSIGNALED */

/* Logs how the child has ended, unless it exited after its response, or wrote for a client that has
 * left. */
static void log_end(const char *file, pid_t child, int status, bool has_head)
{
  const char *where = has_head ? " within its response" : "; premature end of script headers";
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGKILL) && mehari_client_has_left())
    return;
  if (WIFSIGNALED(status))
    mehari_logf(MEHARI_LOG_ERROR, "%s: process %d was ended by signal %d%s", file, (int)child, WTERMSIG(status), where);
  else if (!WIFEXITED(status))
    mehari_logf(MEHARI_LOG_ERROR, "%s: its process ended with its template%s", file, where);
  else if (!has_head)
    mehari_logf(MEHARI_LOG_ERROR, "%s: process %d ended with status %d before its response; premature end of script headers", file, (int)child,
                WEXITSTATUS(status));
}

/* Completes the missing parts of a response after the child's end. Only a child that exited has
 * said all that it had to say. */
static void complete(const char *file, pid_t child, int status)
{
  uint32_t progress = mehari_mailbox_progress();
  bool has_head = progress >= MEHARI_PROGRESS_HEAD;
  log_end(file, child, status, has_head);
  if (!has_head)
    mehari_output_error(500);
  else if (progress == MEHARI_PROGRESS_HEAD)
    mehari_ring_put(MEHARI_RECORD_END, WIFEXITED(status) ? 0 : MEHARI_END_BROKEN, NULL, 0);
}

/* Kills the child, because its end may never be reported and no other process may write to the ring
 * while the worker does. */
static void end_child(void)
{
  pid_t child = atomic_load(mehari_mailbox_child());
  if (child <= 1)
    return;
  kill(-child, SIGKILL);
  while (kill(child, SIGKILL) == 0)
    usleep(1000);
}

/* Waits for the report of the child's end. The end of a child that was killed while it exited is
 * reported twice. */
static bool wait_for_end(template *this, mehari_ending *ending)
{
  ssize_t got;
  do
    got = recv(this->socket, ending, sizeof *ending, 0);
  while ((got < 0 && errno == EINTR) || (got == sizeof *ending && ending->order != this->used));
  return got == sizeof *ending;
}

/* Ends the other templates. If a template or its child could not start, there may be no room for
 * further processes. */
static void drop_other_templates(const template *this)
{
  for (int i = 0; i < TEMPLATES; i++)
    if (&templates[i] != this)
      drop_template(&templates[i]);
}

/* Lets a template's child serve the request. False: the template and the child have died. */
static bool serve_by(template *this, bool to_its_end, mehari_ending *ending)
{
  this->used = ++clock_hand;
  bool ended = send_order(this, to_its_end) && wait_for_end(this, ending);
  if (!ended)
    end_child();
  if (!ended || ending->status)
    mehari_mailbox_take_over();
  if (!ended) {
    mehari_serving = !mehari_mailbox_latest_is_done();
    mehari_logf(MEHARI_LOG_WARN, "%s: its template process ended", this->file);
    drop_template(this);
  } else if (ending->was_lent)
    *mehari_mailbox_taken() = ending->taken;
  return ended;
}

/* Goes on where the child has stopped. `ordered`: the number of the request that the worker
 * ordered. The child may have taken further requests. */
static mehari_forked go_on(uint32_t ordered, const char *file, const mehari_ending *ending)
{
  const mehari_request *frame = mehari_mailbox_recover();
  if (!frame)
    return MEHARI_FORK_DONE;
  if (mehari_mailbox_taken()->count != ordered) {
    mehari_mailbox_forget();
    if (mehari_mailbox_progress() == MEHARI_PROGRESS_NONE) {
      mehari_mailbox_return(frame);
      return MEHARI_FORK_DONE;
    }
    mehari_mailbox_adopt(frame, -1);
    mehari_serving = true;
  }
  complete(file, ending->child, ending->status);
  return MEHARI_FORK_SERVED;
}

/* Reads the mark of the script's file. A handler or an application has no mark, because it is
 * loaded once per generation. Returns 0, or the status of the response. */
static int read_mark(const char *file, int manner, uint64_t *mark)
{
  struct stat now;
  *mark = 0;
  if (manner == MEHARI_TO_SERVE)
    return 0;
  if (stat(file, &now) < 0 || !S_ISREG(now.st_mode))
    return errno == EACCES ? 403 : 404;
  *mark = mehari_mark(&now);
  return 0;
}

static mehari_forked serve(bool to_its_end)
{
  mehari_text task = mehari_request_text(MEHARI_TEXT_TASK);
  char file[4097];
  uint64_t mark;
  int manner = mehari_fork_manner(mehari_now.frame);
  int refused = MEHARI_COPY(file, task) ? read_mark(file, manner, &mark) : 414;
  if (refused) {
    mehari_output_error(refused);
    return MEHARI_FORK_SERVED;
  }
  mehari_ending ending = {.status = UNKNOWN_STATUS};
  uint32_t ordered = mehari_mailbox_taken()->count;
  atomic_store(mehari_mailbox_child(), 0);
  /* A process that died before it began the request has had no effect, so another one serves the
   * request. */
  for (int attempt = 0; attempt < 2; attempt++) {
    uint64_t start = mehari_trace_start();
    template *this = find_template(file, mark, manner);
    mehari_trace_part(MEHARI_PART_ORDER, start, "order to the template of", task);
    if (!this) {
      /* The zygote has died. The workers of the next zygote can start a template. */
      mehari_logf(MEHARI_LOG_WARN, "%s: without its zygote the worker can start no process; another worker gets the request", file);
      mehari_retire = true;
      return MEHARI_FORK_NOT_BEGUN;
    }
    if (!serve_by(this, to_its_end, &ending) && mehari_mailbox_latest() != ordered)
      _exit(73); /* it is unknown which requests the child has taken from the mailbox */
    if (mehari_mailbox_latest() != ordered || mehari_mailbox_progress() != MEHARI_PROGRESS_NONE)
      break;
    drop_other_templates(this);
  }
  if (mehari_is_template_child)
    atomic_store(mehari_mailbox_child(), getpid());
  return go_on(ordered, file, &ending);
}

/* A rewound process may give its request to another process, too. What it knows of the mailbox then
 * changes. */
mehari_forked mehari_fork_serve(bool to_its_end)
{
  mehari_key_open();
  mehari_forked served = serve(to_its_end);
  mehari_key_close();
  return served;
}
