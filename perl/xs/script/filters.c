/* Source filters (Filter::Util::Call, Filter::Simple, Switch) that a script installs while it is
 * compiled. perl filters only a text that it reads from a file, but a script is compiled as a text
 * in memory.
 *
 * The subs that add or delete a filter are wrapped. When one adds a filter to the script's own
 * text, the lines after the current line move to a file, and perl reads on there, as when it runs
 * the script. The last filter in the chain adds the wrapper's footer, so no filter of the script
 * sees it. */
#include "script/compile.h"
#include "interpreter/perl_internals.h"
#include <sys/mman.h>
#include <unistd.h>

static struct {
  const char *name;
  bool adds; /* false: deletes a filter */
  CV *code;
  XSUBADDR_t original;
} subs[] = {
  {"Filter::Util::Call::real_import", true, NULL, NULL},
  {"Filter::Util::Exec::filter_add", true, NULL, NULL},
  {"Filter::decrypt::import", true, NULL, NULL},
  {"Filter::tee::import", true, NULL, NULL},
  {"Filter::Util::Call::filter_del", false, NULL, NULL},
};

/* Returns a handle that reads this text. NULL: there is no room for a file. */
static PerlIO *open_text(pTHX_ const char *text, STRLEN length)
{
  int file = memfd_create("mehari-script", MFD_CLOEXEC);
  if (file < 0)
    return NULL;
  STRLEN written = 0;
  for (ssize_t put = 1; put > 0 && written < length; written += put > 0 ? put : 0)
    put = write(file, text + written, length - written);
  PerlIO *handle = written == length && lseek(file, 0, SEEK_SET) == 0 ? PerlIO_fdopen(file, "r") : NULL;
  if (!handle)
    close(file);
  return handle;
}

/* Ends the filtered text with the wrapper's footer. `at`: the filter's place in the chain. Only the
 * filter at place 0 feeds the parser. */
static I32 add_footer(pTHX_ int at, SV *text, int most)
{
  mehari_compilation *now = &mehari_compilation_now;
  now->filters_running++;
  I32 got = now->has_text_ended ? 0 : FILTER_READ(at + 1, text, most);
  now->filters_running--;
  if (got > 0 || at || now->has_footer)
    return got;
  now->has_footer = true;
  sv_catpvs(text, MEHARI_FOOTER);
  return SvCUR(text);
}

/* Moves the lines after the current line to a file. */
static void filter_rest(pTHX)
{
  mehari_compilation *now = &mehari_compilation_now;
  if (!now->is_filtered) {
    char *end, *at = mehari_parser_rest(aTHX_ &end);
    char *feed = memchr(at, '\n', end - at), *text_end = mehari_script_text_end(at, end);
    if (!feed || !text_end || feed >= text_end)
      return;
    PerlIO *rest = open_text(aTHX_ feed + 1, text_end - feed - 1);
    if (!rest)
      croak("no memory for the filtered script");
    now->is_filtered = true;
    now->filtered_length = text_end - feed - 1;
    mehari_parser_read_on(aTHX_ feed + 1, rest);
  }
  filter_add(add_footer, NULL);
}

STRLEN mehari_script_unread(pTHX)
{
  Off_t read = mehari_parser_position(aTHX);
  STRLEN length = mehari_compilation_now.filtered_length;
  return read >= 0 && (STRLEN)read < length ? length - (STRLEN)read : 0;
}

/* Calls a sub that acts on the filter at place 0, if no filter runs. There the sub must find the
 * script's own filter. */
static void without_footer(pTHX_ XSUBADDR_t sub, CV *code)
{
  AV *filters = mehari_parser_filters(aTHX);
  bool hides = mehari_script_is_being_read(aTHX) && mehari_compilation_now.is_filtered && !mehari_compilation_now.filters_running;
  SV *footer = hides ? av_shift(filters) : NULL;
  sub(aTHX_ code);
  if (!footer)
    return;
  av_unshift(filters, 1);
  (void)av_store(filters, 0, footer);
}

static void watched(pTHX_ CV *code)
{
  size_t at = 0;
  while (at < C_ARRAY_LENGTH(subs) && subs[at].code != code)
    at++;
  if (at == C_ARRAY_LENGTH(subs)) /* a thread has a copy of the sub */
    croak("a thread of a script cannot add or delete a source filter");
  if (!subs[at].adds) {
    without_footer(aTHX_ subs[at].original, code);
    return;
  }
  subs[at].original(aTHX_ code);
  if (mehari_script_is_being_read(aTHX))
    filter_rest(aTHX);
}

void mehari_filters_loaded(pTHX)
{
  if (!gv_stashpvs("Filter", 0)) /* no module of filters is loaded */
    return;
  for (size_t i = 0; i < C_ARRAY_LENGTH(subs); i++) {
    CV *code = subs[i].code ? NULL : get_cv(subs[i].name, 0);
    if (!code || !CvISXSUB(code))
      continue;
    subs[i].code = (CV *)SvREFCNT_inc_simple_NN((SV *)code);
    subs[i].original = CvXSUB(code);
    CvXSUB(code) = watched;
  }
}
