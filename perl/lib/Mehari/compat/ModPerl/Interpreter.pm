package ModPerl::Interpreter;

# Defines methods that die, because pools of interpreters need threads and workers have none.

use strict;
use warnings;
use Mehari::Absent ();

Mehari::Absent::methods(__PACKAGE__, 'a worker is a process with one interpreter: see `mehari status`', qw(current mip num_requests perl refcnt));

1;

__END__

=head1 NAME

ModPerl::Interpreter - a class of mod_perl with threads

=head1 SYNOPSIS

    # `mehari status` shows the workers.

=head1 DESCRIPTION

Each worker (a process that runs Perl code) has one interpreter, so there is no pool of
interpreters. Every method dies with this reason.

=head1 METHODS

=over 4

=item current, mip, num_requests, perl, refcnt

Die.

=back

=head1 DIFFERENCES

Each worker is a process of its own.

=head1 SEE ALSO

L<ModPerl::InterpPool>, L<Mehari>.

=cut
