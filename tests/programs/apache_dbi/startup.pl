# As in Apache::DBI's manual: each worker connects when it starts, not at its first request.
use strict;
use warnings;
use Apache::DBI;
Apache::DBI->connect_on_init("@DSN@", "@USER@", '', { RaiseError => 1, PrintError => 0, AutoCommit => 1 });
Apache::DBI->setPingTimeOut("@DSN@", 0);
1;
