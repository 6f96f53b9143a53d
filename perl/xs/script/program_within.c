/* Runs a program as a sub-request: a CGI program, or a script that runs like one. The program is a
 * process whose output goes into the current response. It has the sub-request's environment and an
 * empty input. */
#include "script/script.h"
#include "environment/environment.h"
#include "mailbox/mailbox.h"
#include "response/response.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t start(char *const words[], const char *folder, int output)
{
  pid_t process = -1;
  sigset_t all, none;
  posix_spawn_file_actions_t files;
  posix_spawnattr_t manner;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, 1);
  posix_spawn_file_actions_addchdir_np(&files, folder);
  posix_spawnattr_init(&manner);
  posix_spawnattr_setsigdefault(&manner, &all);
  posix_spawnattr_setsigmask(&manner, &none);
  posix_spawnattr_setflags(&manner, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  int failed = posix_spawn(&process, words[0], &files, &manner, words, environ);
  posix_spawnattr_destroy(&manner);
  posix_spawn_file_actions_destroy(&files);
  errno = failed;
  return failed ? -1 : process;
}

/* Copies the output with its headers, which are removed later. */
static void copy_output(int from)
{
  char window[16384];
  ssize_t got;
  while ((got = read(from, window, sizeof window)) > 0 || (got < 0 && errno == EINTR))
    if (got > 0)
      mehari_output_write(window, got);
}

int mehari_program_run_subrequest(pTHX_ const char *file)
{
  struct stat found;
  if (stat(file, &found) < 0 || !S_ISREG(found.st_mode))
    return 404;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) {
    mehari_logf(MEHARI_LOG_ERROR, "%s: its pipe cannot be made: %s", file, strerror(errno));
    return 500;
  }
  /* A script that is not executable is run by perl. */
  bool is_executable = access(file, X_OK) == 0;
  char *interpreter = SvPV_nolen(get_sv("\030", GV_ADD)); /* $^X */
  char *own[] = {(char *)file, NULL}, *perls[] = {interpreter, (char *)file, NULL};
  const char *slash = strrchr(file, '/');
  char *folder = savepvn(file, slash && slash > file ? slash - file : 1);
  mehari_environment_export(aTHX);
  pid_t process = start(is_executable ? own : perls, slash ? folder : ".", ends[1]);
  int why = errno;
  mehari_environment_restore();
  Safefree(folder);
  close(ends[1]);
  if (process > 0)
    copy_output(ends[0]);
  close(ends[0]);
  if (process < 0) {
    mehari_logf(MEHARI_LOG_ERROR, "%s could not be started: %s", file, strerror(why));
    return 500;
  }
  int ended = 0;
  while (waitpid(process, &ended, 0) < 0 && errno == EINTR)
    ;
  return 0;
}
