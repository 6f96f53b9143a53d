/* Script files as compiled code.
 *
 * Registry and PerlRun wrap the text in a sub in its own package, as mod_perl does. A program
 * (rung `fork`) is compiled to run as perl would run it: in main, at the top level. */
#include "script/script.h"
#include "interpreter/interpreter.h"
#include "interpreter/perl_internals.h"
#include "mailbox/mailbox.h"
#include "response/response.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The end of the wrapped text declares a sub that is never called. Its name tells the keyword
 * plugin that the whole text was read. */
#define END_OF_TEXT " Mehari::Unit::end;\n"
#define FOOTER "\n;}sub" END_OF_TEXT

/* The findings of the current compilation. */
static bool compiling, data_found;
static const char *compiling_name; /* as in its #line */
static STRLEN data_rest; /* bytes of the file after the __DATA__ line */
/* $SIG{__DIE__} for a text that was read to its end and has errors; NULL: perl itself calls the
 * hook. */
static SV *hook_aside;
static HV *data_package; /* the package of __DATA__; __END__ opens the main program's */

static int (*next_keyword)(pTHX_ char *, STRLEN, OP **);

/* Called in the wrapper's BEGIN block. The sub then counts as a file: `shift` takes from @ARGV,
 * and named subs share its lexicals. */
void mehari_script_top_level(pTHX)
{
  if (compiling)
    mehari_compile_as_file(aTHX);
  mehari_purity_begin();
}

/* Whether the current text is the script's own, not that of a module or of a string eval. */
static bool is_the_script(pTHX)
{
  if (!compiling || mehari_in_thread(aTHX) || mehari_parser_reads_file(aTHX))
    return false;
  const char *file = CopFILE(&PL_compiling);
  return file && strEQ(file, compiling_name);
}

/* Finishes a text with errors. A perl that runs the script finds the errors of all its lines and
 * then dies, so $SIG{__DIE__} gets them with the line "Execution of ... aborted". For an eval's
 * text perl before 5.38 calls no hook, and a later perl calls the hook without that line. In all
 * versions report_failure calls the hook instead. */
static void end_of_text(pTHX)
{
  if (mehari_in_thread(aTHX) || hook_aside || !mehari_parser_has_errors(aTHX))
    return;
  hook_aside = PL_diehook;
  PL_diehook = NULL;
}

static void put_hook_back(pTHX)
{
  if (PL_diehook)
    SvREFCNT_dec(hook_aside);
  else
    PL_diehook = hook_aside;
  hook_aside = NULL;
}

static bool is_end_of_text(pTHX_ const char *word, STRLEN length)
{
  if (!compiling || length != 3 || memNE(word, "sub", 3))
    return false;
  /* Perl appends "\n;" to the text of an eval. */
  const STRLEN wanted = sizeof END_OF_TEXT - 1, added = 2;
  char *end, *at = mehari_parser_rest(aTHX_ &end);
  STRLEN rest = end - at;
  return rest >= wanted && rest <= wanted + added && memEQ(at, END_OF_TEXT, wanted);
}

/* The keyword plugin: perl calls it for every word that may be a keyword. Only here can a real
 * __END__ or __DATA__ be told from one in a here-document or a hash key. */
static int find_data(pTHX_ char *word, STRLEN length, OP **op)
{
  bool is_end = is_end_of_text(aTHX_ word, length);
  if (is_end)
    end_of_text(aTHX);
  if (is_end || !is_the_script(aTHX))
    return next_keyword(aTHX_ word, length, op);
  mehari_purity_judge(aTHX_ word, length);
  if (!(length == 7 && memEQ(word, "__END__", 7)) && !(length == 8 && memEQ(word, "__DATA__", 8)))
    return next_keyword(aTHX_ word, length, op);
  char *end, *at = mehari_parser_rest(aTHX_ &end), *after = at;
  while (after < end && isSPACE(*after))
    after++;
  if (after + 1 < end && after[0] == '=' && after[1] == '>')
    return next_keyword(aTHX_ word, length, op);
  const STRLEN footer = sizeof FOOTER - 1;
  char *text_end = end;
  while (text_end - at >= (ptrdiff_t)footer && memNE(text_end - footer, FOOTER, footer))
    text_end--;
  if (text_end - at < (ptrdiff_t)footer) /* the text of a string eval */
    return next_keyword(aTHX_ word, length, op);
  text_end -= footer;
  char *feed = memchr(at, '\n', end - at);
  data_found = true;
  data_package = word[2] == 'D' ? PL_curstash : NULL;
  data_rest = feed && text_end > feed ? text_end - feed - 1 : 0;
  mehari_parser_skip_to(aTHX_ text_end);
  *op = newOP(OP_NULL, 0);
  return KEYWORD_PLUGIN_STMT;
}

void mehari_script_hooks(pTHX)
{
  wrap_keyword_plugin(find_data, &next_keyword);
}

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

/* Reads the whole file. False: `errno` has the reason. 0 means that the file changed during the
 * read. */
static bool read_whole(pTHX_ int file, SV *text, struct stat *now)
{
  struct stat after;
  if (fstat(file, now) < 0 || lseek(file, 0, SEEK_SET) < 0)
    return false;
  SvGROW(text, (STRLEN)now->st_size + 1);
  SvPOK_only(text);
  SvCUR_set(text, 0);
  while (SvCUR(text) < (STRLEN)now->st_size) {
    ssize_t got = read(file, SvEND(text), now->st_size - SvCUR(text));
    if (got < 0 && errno != EINTR)
      return false;
    if (!got)
      break;
    if (got > 0)
      SvCUR_set(text, SvCUR(text) + got);
  }
  *SvEND(text) = '\0';
  if (fstat(file, &after) < 0)
    return false;
  errno = 0;
  return SvCUR(text) == (STRLEN)now->st_size && mehari_mark(&after) == mehari_mark(now);
}

enum { ATTEMPTS = 10 }; /* to read a file that is being written */

/* Reads a script's text. Without its end a script might be an access check without its refusal,
 * so only a complete script is run and kept. */
static SV *read_text(pTHX_ mehari_script *script, int *status)
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

/* `#!... perl ... -w`: the switches of the first line. */
static void read_first_line(pTHX_ mehari_script *script, const char *text, STRLEN length)
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
      else
        unknown = true;
    at--;
  }
  const char *dash = unknown ? memmem(perl, end - perl, " -", 2) : NULL;
  if (dash)
    script->own_perl = savepvn(dash + 1, end - dash - 1 - (end[-1] == '\r'));
}

static SV *package_name(pTHX_ const char *file, mehari_manner manner)
{
  SV *name = newSVpv(manner == MEHARI_AS_PERLRUN ? "ModPerl::ROOT::ModPerl::PerlRun::" : "ModPerl::ROOT::ModPerl::Registry::", 0);
  for (const char *at = file; *at; at++)
    if (isWORDCHAR_A(*at))
      sv_catpvn(name, at, 1);
    else if (*at == '/')
      sv_catpvs(name, "_");
    else
      sv_catpvf(name, "_%2x", (unsigned char)*at);
  return name;
}

/* A file name in a form for a #line directive. */
static SV *line_name(pTHX_ const char *file)
{
  SV *name = newSVpv(file, 0);
  for (char *at = SvPVX(name); *at; at++)
    if (*at == '"' || *at == '\n' || *at == '\r')
      *at = '_';
  return name;
}

static SV *wrapped_text(pTHX_ mehari_script *script, mehari_manner manner, bool cgi_world, SV *text, SV *line)
{
  SV *source = newSVpvs("");
  if (manner == MEHARI_AS_PROGRAM)
    sv_catpvf(source, "package main; sub Mehari::Unit::main {BEGIN{Mehari::Script::top_level()}");
  else {
    SV *package = package_name(aTHX_ script->file, manner);
    sv_catpvf(source, "package %" SVf "; sub handler {%s%s", SVfARG(package), cgi_world ? "BEGIN{Mehari::Script::top_level()}" : "",
              script->warnings ? "use warnings;" : "");
    SvREFCNT_dec(package);
  }
  sv_catpvf(source, "\n#line 1 \"%" SVf "\"\n", SVfARG(line));
  sv_catsv(source, text);
  sv_catpvs(source, FOOTER);
  return source;
}

typedef struct {
  SV *source;
  bool failed;
} compilation;

static void compile_source(pTHX_ void *argument)
{
  compilation *this = argument;
  ENTER;
  SAVETMPS;
  eval_sv(this->source, G_VOID | G_DISCARD);
  this->failed = SvTRUE(ERRSV);
  FREETMPS;
  LEAVE;
}

/* ---- DATA ---- */

void mehari_script_open_data(pTHX_ mehari_script *script)
{
  if (!script->has_data)
    return;
  IO *io = GvIOn(script->data_handle);
  if (IoIFP(io))
    PerlIO_close(IoIFP(io));
  PerlIO *file = PerlIO_open(script->file, "r");
  if (file)
    PerlIO_seek(file, script->data_offset, SEEK_SET);
  IoIFP(io) = file;
  IoTYPE(io) = IoTYPE_RDONLY;
  IoLINES(io) = 0;
}

void mehari_script_free(pTHX_ mehari_script *script)
{
  if (!script)
    return;
  SvREFCNT_dec((SV *)script->code);
  SvREFCNT_dec((SV *)script->ends);
  mehari_hooks_free(aTHX_ & script->hooks);
  Safefree(script->rebinds);
  Safefree(script->file);
  Safefree(script->own_perl);
  Safefree(script);
}

static bool adopt_code(pTHX_ mehari_script *script, mehari_manner manner)
{
  if (manner == MEHARI_AS_PROGRAM) {
    script->stash = PL_defstash;
    script->code = (CV *)SvREFCNT_inc((SV *)get_cv("Mehari::Unit::main", 0));
    HV *unit = gv_stashpvs("Mehari::Unit", 0);
    if (unit)
      (void)hv_deletes(unit, "main", G_DISCARD);
  } else {
    SV *package = package_name(aTHX_ script->file, manner);
    script->stash = gv_stashsv(package, 0);
    sv_catpvs(package, "::handler");
    script->code = (CV *)SvREFCNT_inc((SV *)get_cv(SvPV_nolen(package), 0));
    SvREFCNT_dec(package);
  }
  if (script->code)
    mehari_compiled_as_sub(script->code);
  return script->code != NULL;
}

/* ---- a compilation that failed ---- */

/* Calls $SIG{__DIE__}. To perl and to CGI::Carp the error is not inside an eval. perl prints its
 * message and leaves as exit does. */
static void call_die_hook(pTHX_ void *message)
{
  dSP;
  SV *hook = PL_diehook;
  COP place = PL_compiling; /* the place of the call, for code that asks */
  CopFILE_set(&place, compiling_name);
  ENTER;
  SAVETMPS;
  SAVEVPTR(PL_curcop);
  PL_curcop = &place;
  SAVESPTR(PL_diehook);
  PL_diehook = NULL;
  PUSHMARK(SP);
  XPUSHs((SV *)message);
  PUTBACK;
  call_sv(hook, G_VOID | G_DISCARD);
  FREETMPS;
  LEAVE;
}

/* Whether perl itself has ended the compilation: in a BEGIN block, at a fatal error, or after
 * too many errors. */
static bool says_it_ended(const char *message)
{
  return strstr(message, "compilation aborted") || strstr(message, "aborted due to compilation errors") || strstr(message, "has too many errors");
}

/* Reports the errors of a compilation. A perl that runs the script calls $SIG{__DIE__} with them
 * as its last act. Ours did not, or the hook was inside an eval and kept silent. Text that the
 * hook prints is the response. */
static void report_failure(pTHX_ const char *file, size_t printed_before)
{
  SV *message = sv_mortalcopy(ERRSV);
  if (!SvROK(message) && !says_it_ended(SvPV_nolen(message)))
    sv_catpvf(message, "Execution of %s aborted due to compilation errors.\n", file);
  mehari_exit_called = false;
  mehari_outcome outcome = MEHARI_RAN;
  if (PL_diehook && mehari_serving && mehari_output_bytes() == printed_before)
    outcome = mehari_guard(aTHX_ call_die_hook, message, NULL);
  if (outcome == MEHARI_RAN || mehari_exit_called) {
    sv_setsv(ERRSV, message);
    mehari_log_exception(aTHX_ file);
  }
}

mehari_script *mehari_script_compile(pTHX_ const char *file, mehari_manner manner, int *status)
{
  mehari_script *script;
  Newxz(script, 1, mehari_script);
  script->file = savepv(file);
  *status = 500;
  SV *text = read_text(aTHX_ script, status);
  if (!text) {
    mehari_script_free(aTHX_ script);
    return NULL;
  }
  read_first_line(aTHX_ script, SvPVX(text), SvCUR(text));
  bool cgi_world = mehari_serving && mehari_now.frame->flags & MEHARI_FLAG_CGI_WORLD;
  SV *line = line_name(aTHX_ script->file);
  compilation this = {wrapped_text(aTHX_ script, manner, cgi_world, text, line), false};
  AV *ends = PL_endav;
  U8 warn = PL_dowarn;
  if (manner != MEHARI_AS_PROGRAM)
    PL_endav = NULL;
  if (script->warnings && manner == MEHARI_AS_PROGRAM)
    PL_dowarn |= G_WARN_ON;
  compiling_name = SvPVX(line);
  mehari_purity_begin();
  compiling = true;
  data_found = false;
  size_t printed = mehari_output_bytes();
  mehari_hooks before;
  mehari_hooks_read(aTHX_ & before);
  mehari_outcome outcome = mehari_guard(aTHX_ compile_source, &this, NULL);
  compiling = false;
  put_hook_back(aTHX);
  mehari_hooks_keep_changed(aTHX_ & script->hooks, &before);
  script->printed = mehari_output_bytes() != printed;
  if (manner != MEHARI_AS_PROGRAM) {
    script->ends = PL_endav;
    PL_endav = ends;
  }
  if (!script->warnings)
    PL_dowarn = warn;
  SvREFCNT_dec(this.source);
  sv_2mortal(line);
  bool compiled = outcome == MEHARI_RAN && !this.failed && adopt_code(aTHX_ script, manner);
  if (!compiled) {
    if (this.failed)
      report_failure(aTHX_ script->file, printed);
    if (outcome == MEHARI_EXITED || mehari_output_bytes() > printed)
      *status = 0;
    if (manner != MEHARI_AS_PROGRAM)
      mehari_call_list(aTHX_ script->ends);
    SvREFCNT_dec(text);
    mehari_script_free(aTHX_ script);
    return NULL;
  }
  script->has_data = data_found;
  script->data_offset = script->mark + SvCUR(text) - data_rest;
  if (data_found) {
    HV *package = data_package ? data_package : script->stash;
    script->data_handle = gv_fetchpv(Perl_form(aTHX_ "%s::DATA", HvNAME(package)), GV_ADD, SVt_PVIO);
  }
  if (manner == MEHARI_AS_REGISTRY && cgi_world)
    mehari_script_find_captures(aTHX_ script);
  SvREFCNT_dec(text);
  return script;
}
