/* The tap: a pipe on descriptor 1, from the moment another writer may exist (a child process, a
 * duplicate of STDOUT) to the end of the response. The front reads the other end. The output of
 * children is therefore streamed, children wait for a slow client, and all output keeps the order
 * of the writes.
 *
 * The layer (stdout.c) opens the tap before an operator starts a process. response/response.c
 * writes to the tap. */
#include "stdio/standard.h"
#include "mailbox/mailbox.h"
#include "process/process.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MERCY 3 /* seconds between TERM and KILL, as in Apache */

static bool is_open, reader_gone;
static struct stat identity;
static time_t asked_to_end; /* when this process got SIGTERM because its client has left */

bool mehari_tap_is_open(void) { return is_open; }
bool mehari_tap_has_failed(void) { return reader_gone; }

bool mehari_tap_open(void)
{
  int ends[2];
  if (is_open)
    return true;
  mehari_touched |= MEHARI_TOUCHED_FILES;
  if (pipe2(ends, O_CLOEXEC) < 0 || !mehari_mailbox_send_file(ends[0])) {
    mehari_logf(MEHARI_LOG_ERROR, "no pipe for the output of child processes: %s", strerror(errno));
    return false;
  }
  close(ends[0]);
  dup2(ends[1], 1);
  if (ends[1] != 1)
    close(ends[1]);
  is_open = fstat(1, &identity) == 0;
  reader_gone = false;
  return is_open;
}

/* Ends this process, because it writes for a client that has left. Apache sends TERM to a CGI
 * program then, and KILL to a program that goes on. */
void mehari_tap_end_writer(void)
{
  time_t now = time(NULL);
  if (!asked_to_end) {
    asked_to_end = now;
    raise(SIGTERM);
  } else if (now - asked_to_end >= MERCY)
    raise(SIGKILL);
}

static bool is_tap(int descriptor)
{
  struct stat file;
  return is_open && fstat(descriptor, &file) == 0 && file.st_dev == identity.st_dev && file.st_ino == identity.st_ino;
}

/* Waits for a process that has taken the script's place, and returns how it has ended. When the
 * client leaves, ends the process, as mehari_tap_end_writer does. */
int mehari_tap_await(pid_t process)
{
  int end = syscall(SYS_pidfd_open, process, 0), status = 0, patience = -1;
  struct pollfd waits[] = {{.fd = end, .events = POLLIN}, {.fd = is_tap(1) ? 1 : -1}};
  while (end >= 0 && !waits[0].revents) {
    int count = poll(waits, 2, patience);
    if (count < 0 || waits[0].revents)
      continue;
    kill(process, count ? SIGTERM : SIGKILL);
    waits[1].fd = -1; /* POLLERR has come: the reader has closed the tap */
    patience = count ? MERCY * 1000 : -1;
  }
  if (end >= 0)
    close(end);
  while (waitpid(process, &status, 0) < 0 && errno == EINTR)
    ;
  return status;
}

/* Writes to descriptor 1. Blocks SIGPIPE, except in a child of the script, so that the script does
 * not die because the client has left. */
void mehari_tap_write(const char *bytes, size_t length)
{
  static const struct timespec at_once = {0, 0};
  sigset_t broken_pipe, before;
  if (reader_gone && is_open && !mehari_in_child)
    return;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  if (!mehari_in_child)
    pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
  while (length) {
    ssize_t wrote = write(1, bytes, length);
    if (wrote < 0 && errno == EINTR)
      continue;
    reader_gone = wrote <= 0 && errno == EPIPE;
    if (wrote <= 0)
      break;
    bytes += wrote;
    length -= wrote;
  }
  if (mehari_in_child && reader_gone && is_tap(1))
    mehari_tap_end_writer();
  if (!mehari_in_child) {
    if (reader_gone && !sigismember(&before, SIGPIPE))
      sigtimedwait(&broken_pipe, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
}

/* Redirects duplicates of the tap that the script has kept to /dev/null, because they would hold
 * the response open. */
static void let_go_of_duplicates(void)
{
  int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  DIR *all = opendir("/proc/self/fd");
  struct dirent *each;
  while (all && nowhere >= 0 && (each = readdir(all))) {
    int number = atoi(each->d_name);
    if (number > 2 && is_tap(number))
      dup3(nowhere, number, O_CLOEXEC);
  }
  if (all)
    closedir(all);
  if (nowhere >= 0)
    close(nowhere);
}

void mehari_tap_close(pTHX)
{
  if (!is_open)
    return;
  PL_op = NULL; /* no child follows this flush */
  PerlIO_flush((PerlIO *)NULL);
  mehari_stdout_restore_descriptor();
  let_go_of_duplicates();
  is_open = false;
}
