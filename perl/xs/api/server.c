/* The data of a server for Perl: the server's configured texts and variables, and its handlers. */
#include "api/api.h"
#include "mailbox/mailbox.h"
#include "phases/phases.h"
#include "phases/settings.h"
#include "request/record.h"

static mehari_settings *server_of(pTHX_ SV *number)
{
  mehari_settings *server = mehari_server(SvUV(number));
  /* The server has no settings yet, but code that stacks handlers needs a record to store the
   * handlers. */
  if (!server) {
    mehari_server_set_settings(aTHX_ SvUV(number), (mehari_text){"", 0});
    server = mehari_server(SvUV(number));
  }
  if (!server)
    croak("there is no server with the number %" SVf, SVfARG(number));
  return server;
}

/* Mehari::Server::text($number, $name): returns a configured text; undef if the text is missing or
 * empty. */
XS_INTERNAL(text)
{
  dXSARGS;
  if (items != 2)
    croak_xs_usage(cv, "number, name");
  SV *found = mehari_settings_text(aTHX_ mehari_server(SvUV(ST(0))), SvPV_nolen(ST(1)));
  ST(0) = found && SvOK(found) && SvCUR(found) ? sv_mortalcopy(found) : &PL_sv_undef;
  XSRETURN(1);
}

/* Mehari::Server::is_serving: returns whether a request is being served. */
XS_INTERNAL(is_serving)
{
  dXSARGS;
  PERL_UNUSED_VAR(items);
  ST(0) = boolSV(mehari_rec_now != NULL);
  XSRETURN(1);
}

/* Mehari::Server::variables($number): returns names and values of `PerlSetVar` and `PerlAddVar`. */
XS_INTERNAL(variables)
{
  dXSARGS;
  if (items != 1)
    croak_xs_usage(cv, "number");
  const mehari_settings *server = mehari_server(SvUV(ST(0)));
  AV *list = server ? server->variables : NULL;
  SP -= items;
  for (SSize_t i = 0; list && i <= av_top_index(list); i++)
    XPUSHs(sv_mortalcopy(AvARRAY(list)[i]));
  PUTBACK;
}

/* Mehari::Server::containers($number, or undef for the request): returns the custom directives in
 * the settings. */
XS_INTERNAL(containers)
{
  dXSARGS;
  if (items != 1)
    croak_xs_usage(cv, "number or $r");
  const mehari_settings *settings = SvROK(ST(0)) ? mehari_rec_of(aTHX_ ST(0))->settings : mehari_server(SvUV(ST(0)));
  AV *list = settings ? settings->containers : NULL;
  SP -= items;
  for (SSize_t i = 0; list && i <= av_top_index(list); i++)
    XPUSHs(sv_mortalcopy(AvARRAY(list)[i]));
  PUTBACK;
}

/* Mehari::Server::connection_of($r): returns the number of the connection, and how many requests it
 * had before. */
XS_INTERNAL(connection_of)
{
  dXSARGS;
  if (items != 1)
    croak_xs_usage(cv, "r");
  mehari_rec *rec = mehari_rec_of(aTHX_ ST(0));
  /* Sub-requests and internal redirects belong to the connection of their outer request. */
  while (rec->main || rec->prev)
    rec = rec->main ? rec->main : rec->prev;
  const mehari_request *frame = rec->job.frame;
  SP -= items;
  EXTEND(SP, 2);
  mPUSHu(frame->connection);
  mPUSHu(frame->kept);
  PUTBACK;
}

/* $r->run_*: runs the phase's handlers once more. The result is the same as the result of Apache's
 * hook. */
XS_INTERNAL(run_phase)
{
  dXSARGS;
  dXSI32;
  if (items != 1)
    croak_xs_usage(cv, "r");
  mehari_rec *rec = mehari_rec_of(aTHX_ ST(0));
  OP *here = PL_op;
  int status = mehari_rec_check(aTHX_ rec, ix);
  PL_op = here;
  /* After Perl's handlers, the server itself maps every path, so these phases never decline. */
  bool is_the_servers_too = ix == MEHARI_PHASE_TRANS || ix == MEHARI_PHASE_MAP_TO_STORAGE;
  XSRETURN_IV((mehari_phases[ix].runs_all || is_the_servers_too) && status == -1 ? 0 : status);
}

/* $r->location_merge($location): puts the settings of that location in force. */
XS_INTERNAL(location_merge)
{
  dXSARGS;
  if (items != 2)
    croak_xs_usage(cv, "r, location");
  mehari_rec *rec = mehari_rec_of(aTHX_ ST(0));
  OP *here = PL_op;
  bool is_merged = mehari_rec_merge(aTHX_ rec, mehari_sv_text(aTHX_ ST(1)));
  PL_op = here;
  ST(0) = boolSV(is_merged);
  XSRETURN(1);
}

/* $r->die($status): replaces the printed output by the page of a status. */
XS_INTERNAL(end_with_status)
{
  dXSARGS;
  if (items != 2)
    croak_xs_usage(cv, "r, status");
  (void)mehari_rec_of(aTHX_ ST(0));
  OP *here = PL_op;
  mehari_rec_fail(aTHX_ SvIV(ST(1)));
  PL_op = here;
  XSRETURN_EMPTY;
}

XS_INTERNAL(count)
{
  dXSARGS;
  PERL_UNUSED_VAR(items);
  EXTEND(SP, 1);
  XSRETURN_UV(mehari_server_count());
}

/* Mehari::Server::number_of_request: returns the number of the server that serves the request. */
XS_INTERNAL(number_of_request)
{
  dXSARGS;
  PERL_UNUSED_VAR(items);
  EXTEND(SP, 1);
  XSRETURN_UV(mehari_serving ? mehari_now.frame->server : 0);
}

static void add_one(pTHX_ AV *list, SV *handler)
{
  if (SvROK(handler) ? SvTYPE(SvRV(handler)) != SVt_PVCV : !SvOK(handler))
    croak("a handler is a name or code, not %s", SvROK(handler) ? sv_reftype(SvRV(handler), 0) : "undef");
  av_push(list, newSVsv(handler));
}

/* Mehari::Server::stack($number, $phase, $handlers, $anew): adds handlers, or replaces all if
 * `$anew` is true. `$handlers` is a name, code, or an array of names and code. */
XS_INTERNAL(stack)
{
  dXSARGS;
  if (items != 4)
    croak_xs_usage(cv, "number, phase, handlers, anew");
  mehari_settings *server = server_of(aTHX_ ST(0));
  int phase = mehari_rec_phase(aTHX_ ST(1));
  if (phase < 0)
    XSRETURN_NO;
  SV *handlers = ST(2);
  if (!server->handlers[phase])
    server->handlers[phase] = newAV();
  AV *list = server->handlers[phase];
  server->is_changed[phase] = true;
  if (SvTRUE(ST(3)))
    av_clear(list);
  if (SvROK(handlers) && SvTYPE(SvRV(handlers)) == SVt_PVAV)
    for (SSize_t i = 0; i <= av_top_index((AV *)SvRV(handlers)); i++)
      add_one(aTHX_ list, AvARRAY((AV *)SvRV(handlers))[i]);
  else if (SvOK(handlers))
    add_one(aTHX_ list, handlers);
  XSRETURN_YES;
}

/* Mehari::Server::handlers($number, $phase): returns an array of handlers. undef: there are
 * none. */
XS_INTERNAL(handlers)
{
  dXSARGS;
  if (items != 2)
    croak_xs_usage(cv, "number, phase");
  const mehari_settings *server = mehari_server(SvUV(ST(0)));
  int phase = mehari_rec_phase(aTHX_ ST(1));
  AV *list = server && phase >= 0 ? server->handlers[phase] : NULL;
  if (!list)
    XSRETURN_UNDEF;
  AV *copy = newAV();
  for (SSize_t i = 0; list && i <= av_top_index(list); i++)
    av_push(copy, newSVsv(AvARRAY(list)[i]));
  ST(0) = sv_2mortal(newRV_noinc((SV *)copy));
  XSRETURN(1);
}

void mehari_server_boot(pTHX)
{
  static const mehari_sub subs[] = {
    {"Mehari::Server::text", text, 0}, {"Mehari::Server::is_serving", is_serving, 0}, {"Mehari::Server::variables", variables, 0}, {"Mehari::Server::count", count, 0},
    {"Mehari::Server::number_of_request", number_of_request, 0}, {"Mehari::Server::stack", stack, 0},
    {"Mehari::Server::handlers", handlers, 0}, {"Mehari::Server::containers", containers, 0},
    {"Mehari::Server::connection_of", connection_of, 0}, {"Apache2::RequestRec::die", end_with_status, 0},
    {"Apache2::RequestRec::location_merge", location_merge, 0},
    {"Apache2::RequestRec::run_post_read_request", run_phase, MEHARI_PHASE_POST_READ_REQUEST}, {"Apache2::RequestRec::run_translate_name", run_phase, MEHARI_PHASE_TRANS},
    {"Apache2::RequestRec::run_map_to_storage", run_phase, MEHARI_PHASE_MAP_TO_STORAGE}, {"Apache2::RequestRec::run_header_parser", run_phase, MEHARI_PHASE_HEADER_PARSER},
    {"Apache2::RequestRec::run_access_checker", run_phase, MEHARI_PHASE_ACCESS}, {"Apache2::RequestRec::run_check_user_id", run_phase, MEHARI_PHASE_AUTHEN},
    {"Apache2::RequestRec::run_auth_checker", run_phase, MEHARI_PHASE_AUTHZ}, {"Apache2::RequestRec::run_type_checker", run_phase, MEHARI_PHASE_TYPE},
    {"Apache2::RequestRec::run_fixups", run_phase, MEHARI_PHASE_FIXUP}, {"Apache2::RequestRec::run_handler", run_phase, MEHARI_PHASE_RESPONSE},
    {"Apache2::RequestRec::invoke_handler", run_phase, MEHARI_PHASE_RESPONSE}, {"Apache2::RequestRec::run_log_transaction", run_phase, MEHARI_PHASE_LOG},
  };
  MEHARI_DEFINE(subs);
}
