package APR::Socket;

# Sockets belong to the front; a worker has none.

use strict;
use warnings;
use Mehari::Absent ();

Mehari::Absent::methods(
    __PACKAGE__, "the server owns the client's socket: use \$r->read and \$r->print for the client, IO::Socket for other sockets",
    qw(bind close connect fileno listen opt_get opt_set poll recv recvfrom send sendto timeout_get timeout_set),
);

1;
