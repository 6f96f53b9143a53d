package APR::OS;

use strict;
use warnings;

# A worker has one thread.
sub current_thread_id { return 0 }

1;

__END__

=head1 NAME

APR::OS - threads of the system

=head1 SYNOPSIS

    use APR::OS ();
    my $thread = APR::OS::current_thread_id();

=head1 DESCRIPTION

A worker (a process that runs Perl code) has one thread.

=head1 FUNCTIONS

=over 4

=item current_thread_id

Always 0.

=back

=head1 DIFFERENCES

The number is also 0 in threads that a program starts.

=head1 SEE ALSO

L<APR::ThreadMutex>.

=cut
