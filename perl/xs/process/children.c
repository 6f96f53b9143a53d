/* Keeps the list of the workers that the zygote has forked. The zygote reports their ends, and
 * kills them when the front ends. */
#include "process/zygote.h"
#include "process/warmup.h"
#include "rewind/rewind.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* The process numbers of workers, whose ends the front must know. The end of a template is not
 * reported, because a template ends with its worker. */
static pid_t *workers;
static int worker_count;

void mehari_children_remember(pid_t worker)
{
  Renew(workers, worker_count + 1, pid_t);
  workers[worker_count++] = worker;
}

static bool forget_worker(pid_t worker)
{
  for (int i = 0; i < worker_count; i++)
    if (workers[i] == worker) {
      workers[i] = workers[--worker_count];
      return true;
    }
  return false;
}

static bool is_worker(pid_t process)
{
  for (int i = 0; i < worker_count; i++)
    if (workers[i] == process)
      return true;
  return false;
}

/* Kills the processes of the rung `fork`, which lead groups of their own. Their templates are in
 * the groups of the workers. */
static void kill_groups_below(void)
{
  DIR *all = opendir("/proc");
  struct dirent *each;
  while (all && (each = readdir(all))) {
    pid_t process = atoi(each->d_name);
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    int file = process > 1 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
      close(file);
    text[length > 0 ? length : 0] = '\0';
    const char *end_of_name = strrchr(text, ')');
    int parent, group;
    if (end_of_name && sscanf(end_of_name, ") %*c %d %d", &parent, &group) == 2 && group == process && is_worker(getpgid(parent)))
      kill(-process, SIGKILL);
  }
  if (all)
    closedir(all);
}

void mehari_children_reap(void)
{
  int status;
  pid_t worker;
  while ((worker = waitpid(-1, &status, WNOHANG)) > 0)
    if (!forget_worker(worker)) {
      mehari_stem_ended(worker);
      mehari_pictures_release(worker);
      mehari_explanation_ended(worker, status);
    } else
      mehari_zygote_report(&(mehari_control){MEHARI_CONTROL_ENDED, 0, worker, status, 0}, "");
}

void mehari_children_kill(void)
{
  kill_groups_below();
  for (int i = 0; i < worker_count; i++)
    kill(-workers[i], SIGKILL);
}
