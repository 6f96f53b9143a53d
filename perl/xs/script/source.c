/* Reads the text of a script: the whole file, and the switches of its first line. */
#include "script/script.h"
#include "script/compile.h"
#include "mailbox/mailbox.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int status_of_error(int error)
{
  return error == EACCES || error == EPERM ? 403 : error == ENOENT || error == ENOTDIR ? 404 : 500;
}

bool mehari_script_unchanged(const mehari_script *script, mehari_text file, int *status)
{
  struct stat now;
  if (mehari_is_unchanged_since_front(file, script->made_from))
    return true;
  if (stat(script->file, &now) < 0) {
    *status = status_of_error(errno);
    return false;
  }
  return mehari_mark(&now) == script->made_from;
}

/* Reads the whole file, which `now` describes. False: `errno` has the reason. 0 means that the file
 * changed during the read; `now` describes the changed file. */
static bool read_whole(pTHX_ int file, SV *text, struct stat *now)
{
  struct stat before = *now;
  SvGROW(text, (STRLEN)before.st_size + 1);
  SvPOK_only(text);
  SvCUR_set(text, 0);
  while (SvCUR(text) < (STRLEN)before.st_size) {
    ssize_t got = pread(file, SvEND(text), before.st_size - SvCUR(text), SvCUR(text));
    if (got < 0 && errno != EINTR)
      return false;
    if (!got)
      break;
    if (got > 0)
      SvCUR_set(text, SvCUR(text) + got);
  }
  *SvEND(text) = '\0';
  if (fstat(file, now) < 0)
    return false;
  errno = 0;
  return SvCUR(text) == (STRLEN)before.st_size && mehari_mark(now) == mehari_mark(&before);
}

enum { ATTEMPTS = 10 }; /* to read a file that is being written */

/* Reads a script's text. Only a complete script is run and kept, because a script that is cut off
 * might be an access check without its refusal. */
SV *mehari_script_read(pTHX_ mehari_script *script, int *status)
{
  int file = open(script->file, O_RDONLY | O_CLOEXEC);
  struct stat now;
  if (file < 0 || fstat(file, &now) < 0) {
    *status = status_of_error(errno);
    mehari_logf(MEHARI_LOG_ERROR, "cannot read %s: %s", script->file, strerror(errno));
    if (file >= 0)
      close(file);
    return NULL;
  }
  if (!S_ISREG(now.st_mode)) {
    close(file);
    *status = 404;
    return NULL;
  }
  SV *text = newSVpvs("");
  bool is_whole = false;
  errno = 0;
  for (int attempt = 0; !is_whole && !errno && attempt < ATTEMPTS; attempt++)
    is_whole = read_whole(aTHX_ file, text, &now);
  int error = errno;
  close(file);
  if (!is_whole) {
    mehari_logf(MEHARI_LOG_ERROR, "cannot read the whole of %s: %s", script->file, error ? strerror(error) : "it changes while it is read");
    SvREFCNT_dec(text);
    *status = 500;
    return NULL;
  }
  script->made_from = mehari_mark(&now);
  if (SvCUR(text) >= 3 && memEQ(SvPVX(text), "\xEF\xBB\xBF", 3)) {
    sv_chop(text, SvPVX(text) + 3);
    script->mark = 3;
  }
  return text;
}

void mehari_script_read_first_line(pTHX_ mehari_script *script, const char *text, STRLEN length)
{
  const char *end = memchr(text, '\n', length);
  const char *perl = end && length > 2 && text[0] == '#' && text[1] == '!' ? memmem(text, end - text, "perl", 4) : NULL;
  bool unknown = false;
  for (const char *at = perl; at && at + 1 < end; at++) {
    if (at[0] != ' ' || at[1] != '-')
      continue;
    for (at += 2; at < end && *at != ' ' && *at != '\r'; at++)
      if (*at == 'w')
        script->warnings = true;
      else if (*at == 'l')
        script->ends_lines = true;
      else {
        script->taints |= *at == 'T';
        unknown = true;
      }
    at--;
  }
  const char *dash = unknown ? memmem(perl, end - perl, " -", 2) : NULL;
  if (dash)
    script->own_perl = savepvn(dash + 1, end - dash - 1 - (end[-1] == '\r'));
}
