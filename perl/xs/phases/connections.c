/* Runs the handlers of connections. A worker gets requests, not connections, so
 * PerlPreConnectionHandler runs before the first request of a connection that the worker sees. For
 * a PerlProcessConnectionHandler the worker gets the client's socket (MEHARI_TASK_CONNECTION). */
#include "phases/phases.h"
#include "phases/settings.h"
#include "api/api.h"
#include "mailbox/wire.h"
#include "request/record.h"

/* The most recent admitted connections, by the number of the connection and of the server with the
 * handlers. A refused connection is checked again for each request, so a further request cannot
 * bypass the check. */
MEHARI_LARGE static struct { uint64_t connection; uint16_t server; } let_in[1024];

static int admit(pTHX_ mehari_rec *rec)
{
  uint64_t connection = rec->job.frame->connection;
  uint16_t server = rec->job.frame->server;
  size_t place = connection % C_ARRAY_LENGTH(let_in);
  if (!rec->settings || !rec->settings->handlers[MEHARI_PHASE_PRE_CONNECTION])
    return DECLINED;
  if (connection && let_in[place].connection == connection && let_in[place].server == server)
    return DECLINED;
  int status = mehari_run_phase(aTHX_ rec, MEHARI_PHASE_PRE_CONNECTION);
  if (status != OK && status != DECLINED)
    return 403;
  let_in[place].connection = connection;
  let_in[place].server = server;
  return DECLINED;
}

int mehari_connection_serve(pTHX_ mehari_rec *rec)
{
  int status = admit(aTHX_ rec);
  if (rec->job.frame->task != MEHARI_TASK_CONNECTION)
    return status;
  if (status == DECLINED)
    mehari_run_phase(aTHX_ rec, MEHARI_PHASE_PROCESS_CONNECTION);
  return DONE;
}

/* Mehari::Server::client_socket($r): returns the descriptor of the client's socket. undef: the
 * front has the socket. */
XS_INTERNAL(client_socket)
{
  dXSARGS;
  if (items != 1)
    croak_xs_usage(cv, "r");
  mehari_rec *rec = mehari_rec_of(aTHX_ ST(0));
  if (rec->job.frame->task != MEHARI_TASK_CONNECTION || rec->job.body_file < 0)
    XSRETURN_UNDEF;
  XSRETURN_IV(rec->job.body_file);
}

void mehari_connections_boot(pTHX)
{
  static const mehari_sub subs[] = {{"Mehari::Server::client_socket", client_socket, 0}};
  MEHARI_DEFINE(subs);
}
