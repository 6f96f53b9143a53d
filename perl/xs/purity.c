/* Whether compiling a script does more than define things: then it is part of each request and must be
 * done anew for it. BEGIN blocks do; so does a `use` whose arguments have to be worked out.
 */
#include "mehari.h"

static bool pure; /* nothing of the script's own has run: no BEGIN block, no `use` with anything to work out */

bool mehari_purity_holds(void) { return pure; }

static const char *skip_quoted(const char *at, const char *end)
{
  char quote = *at++;
  while (at < end && *at != quote)
    at += *at == '\\' && at + 1 < end ? 2 : 1;
  return at < end ? at + 1 : end;
}

static const char *skip_words(const char *at, const char *end)
{
  static const char opening[] = "([{<", closing[] = ")]}>";
  while (at < end && isSPACE(*at))
    at++;
  if (at >= end)
    return end;
  const char *pair = strchr(opening, *at);
  char close = pair ? closing[pair - opening] : *at;
  const char *stop = memchr(at + 1, close, end - at - 1);
  return stop ? stop + 1 : end;
}

/* True when what follows `use` up to its semicolon is a name and literals. */
static bool is_literal_use(const char *at, const char *end)
{
  bool named = false;
  while (at < end && *at != ';') {
    if (isSPACE(*at) || strchr(",()[]{}=>.+-", *at))
      at++;
    else if (*at == '#') {
      const char *feed = memchr(at, '\n', end - at);
      at = feed ? feed : end;
    } else if (*at == '\'')
      at = skip_quoted(at, end);
    else if (*at == '"') {
      const char *stop = skip_quoted(at, end);
      if (memchr(at, '$', stop - at) || memchr(at, '@', stop - at))
        return false;
      at = stop;
    } else if (isDIGIT(*at))
      while (at < end && (isWORDCHAR_A(*at) || *at == '.'))
        at++;
    else if (isWORDCHAR_A(*at) || *at == ':') {
      const char *word = at;
      while (at < end && (isWORDCHAR_A(*at) || *at == ':'))
        at++;
      if (at - word == 2 && memEQ(word, "qw", 2)) {
        at = skip_words(at, end);
        continue;
      }
      bool version = *word == 'v' && at - word > 1 && isDIGIT(word[1]);
      const char *next = at;
      while (next < end && isSPACE(*next))
        next++;
      if (named && !version && !(next + 1 < end && next[0] == '=' && next[1] == '>'))
        return false;
      named = true;
    } else
      return false;
  }
  return true;
}

static bool is_word(const char *word, STRLEN length, const char *wanted)
{
  return strlen(wanted) == length && memEQ(word, wanted, length);
}

/* A word of the script that may be a keyword has been read. */
void mehari_purity_judge(pTHX_ const char *word, STRLEN length)
{
  if (!pure)
    return;
  if (is_word(word, length, "BEGIN") || is_word(word, length, "UNITCHECK") || is_word(word, length, "CHECK") || is_word(word, length, "INIT"))
    pure = false;
  else if (is_word(word, length, "use") || is_word(word, length, "no"))
    pure = is_literal_use(PL_parser->bufptr, PL_parser->bufend);
}

void mehari_purity_begin(void) { pure = true; }
