/* Finds out whether files of code are unchanged. */
#include "script/script.h"
#include "mailbox/mailbox.h"
#include <sys/stat.h>

uint64_t mehari_mark(const struct stat *seen)
{
  return mehari_file_mark(seen->st_dev, seen->st_ino, seen->st_size, seen->st_mtim.tv_sec, seen->st_mtim.tv_nsec);
}

static bool is_same_text(mehari_text one, mehari_text other) { return one.length == other.length && memEQ(one.at, other.at, one.length); }

/* Whether the front saw this file under this mark. The mark belongs to the file that the front
 * found, but a handler may have chosen another file. */
bool mehari_is_unchanged_since_front(mehari_text file, uint64_t mark)
{
  if (!mehari_serving || mehari_now.frame->file_mark != mark)
    return false;
  return is_same_text(file, mehari_request_text(MEHARI_TEXT_TASK)) || is_same_text(file, mehari_request_text(MEHARI_TEXT_FILE));
}
