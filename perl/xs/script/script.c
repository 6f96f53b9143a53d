/* Compiles script files.
 *
 * Registry and PerlRun wrap the text in a sub in its own package, as mod_perl does. A program
 * (rungs `fork` and `rewind`) is compiled to run as perl would run the program: in main, at the top
 * level. */
#include "script/compile.h"
#include "interpreter/interpreter.h"
#include "interpreter/perl_internals.h"
#include "mailbox/mailbox.h"
#include "response/response.h"
#include "trace/trace.h"

mehari_compilation mehari_compilation_now;

/* Called in the wrapper's BEGIN block. Makes the sub count as a file: `shift` takes from @ARGV, and
 * named subs share the file's lexicals. */
void mehari_script_top_level(pTHX)
{
  if (mehari_compilation_now.is_running)
    mehari_compile_as_file(aTHX);
  mehari_purity_begin();
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

/* Returns a file name in a form for a #line directive. */
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
  sv_catpvs(source, MEHARI_FOOTER);
  return source;
}

typedef struct {
  SV *source;
  bool failed;
} evaluation;

static void compile_source(pTHX_ void *argument)
{
  evaluation *this = argument;
  ENTER;
  SAVETMPS;
  eval_sv(this->source, G_VOID | G_DISCARD);
  this->failed = SvTRUE(ERRSV);
  FREETMPS;
  LEAVE;
}

void mehari_script_free(pTHX_ mehari_script *script)
{
  if (!script)
    return;
  SvREFCNT_dec((SV *)script->code);
  SvREFCNT_dec((SV *)script->ends);
  SvREFCNT_dec((SV *)script->uris);
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

/* Notes where DATA begins in a file with this many bytes of text. */
static void note_data(pTHX_ mehari_script *script, STRLEN length)
{
  const mehari_compilation *found = &mehari_compilation_now;
  script->has_data = found->has_data;
  script->data_offset = script->mark + length - found->data_rest;
  if (found->has_data) {
    HV *package = found->data_package ? found->data_package : script->stash;
    script->data_handle = gv_fetchpv(Perl_form(aTHX_ "%s::DATA", HvNAME(package)), GV_ADD, SVt_PVIO);
  }
}

mehari_script *mehari_script_compile(pTHX_ const char *file, mehari_manner manner, int *status)
{
  mehari_script *script;
  Newxz(script, 1, mehari_script);
  script->file = savepv(file);
  *status = 500;
  SV *text = mehari_script_read(aTHX_ script, status);
  if (!text) {
    mehari_script_free(aTHX_ script);
    return NULL;
  }
  mehari_script_read_first_line(aTHX_ script, SvPVX(text), SvCUR(text));
  if (script->taints && manner != MEHARI_AS_PROGRAM && !TAINTING_get)
    mehari_logf(MEHARI_LOG_WARN, "%s: -T switch is ignored, enable with 'PerlSwitches -T' in httpd.conf", script->file);
  bool cgi_world = mehari_serving && mehari_now.frame->flags & MEHARI_FLAG_CGI_WORLD;
  SV *line = line_name(aTHX_ script->file);
  evaluation this = {wrapped_text(aTHX_ script, manner, cgi_world, text, line), false};
  AV *ends = PL_endav;
  U8 warn = PL_dowarn;
  if (manner != MEHARI_AS_PROGRAM)
    PL_endav = NULL;
  if (script->warnings && manner == MEHARI_AS_PROGRAM)
    PL_dowarn |= G_WARN_ON;
  mehari_filters_loaded(aTHX);
  mehari_purity_begin();
  mehari_compilation_now = (mehari_compilation){.is_running = true, .name = SvPVX(line)};
  size_t printed = mehari_output_bytes();
  mehari_hooks before;
  mehari_hooks_read(aTHX_ & before);
  uint64_t start = mehari_trace_start();
  mehari_outcome outcome = mehari_guard(aTHX_ compile_source, &this, NULL);
  mehari_trace_part(MEHARI_PART_COMPILE, start, "compile", (mehari_text){file, strlen(file)});
  mehari_compilation_now.is_running = false;
  mehari_failure_put_hook_back(aTHX);
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
      mehari_failure_report(aTHX_ script->file, printed);
    if (outcome == MEHARI_EXITED || mehari_output_bytes() > printed)
      *status = 0;
    if (manner != MEHARI_AS_PROGRAM)
      mehari_call_list(aTHX_ script->ends);
    SvREFCNT_dec(text);
    mehari_script_free(aTHX_ script);
    return NULL;
  }
  note_data(aTHX_ script, SvCUR(text));
  if (manner == MEHARI_AS_REGISTRY && cgi_world)
    mehari_script_find_captures(aTHX_ script);
  SvREFCNT_dec(text);
  return script;
}
