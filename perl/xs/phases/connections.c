/* Handlers of connections. A worker is given requests, so PerlPreConnectionHandler runs before the first of a connection
 * that it sees; and, where a PerlProcessConnectionHandler speaks with clients, their sockets (MEHARI_TASK_CONNECTION).
 */
#include "phases/phases.h"
#include "phases/settings.h"
#include "api/api.h"
#include "mailbox/wire.h"
#include "request/record.h"

/* Connections whose handlers have let them in, by their number and the server whose handlers these are, and those of late
 * where that is not enough. Who was turned away is asked about again: another request of that connection is no way in. */
static struct { uint64_t connection; uint16_t server; } let_in[1024];

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

/* Mehari::Server::client_socket($r): the descriptor of the client's socket; undef: the front speaks with the client. */
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
