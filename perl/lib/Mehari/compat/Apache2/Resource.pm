package Apache2::Resource;

# Sets resource limits of the worker's process: `PerlSetEnv PERL_RLIMIT_DATA 32:48` (MiB) and
# `PerlChildInitHandler Apache2::Resource`.

use strict;
use warnings;
use Apache2::Const ();
use Mehari ();

our $Debug = $ENV{PERL_RLIMIT_DEBUG};

# limit => [Linux's number of the limit, the factor from the variable's unit to Linux's unit].
my %LIMIT = (
    CPU => [0, 1], FSIZE => [1, 1 << 20], DATA => [2, 1 << 20], STACK => [3, 1 << 20], CORE => [4, 1 << 20], RSS => [5, 1 << 20],
    NPROC => [6, 1], NOFILE => [7, 1], OPEN_MAX => [7, 1], MEMLOCK => [8, 1 << 20], AS => [9, 1 << 20], VMEM => [9, 1 << 20],
);

my %DEFAULT = (CPU => '360', DATA => '32:64', AS => '64:128', CORE => '0', STACK => '20:40');

sub default_handler {
    my %wanted = map { /\APERL_RLIMIT_(\w+)\z/ ? ($1 => $ENV{$_}) : () } keys %ENV;
    %wanted = (%DEFAULT, %wanted) if delete $wanted{DEFAULTS};
    delete $wanted{DEBUG};
    for my $name (sort keys %wanted) {
        my ($number, $unit) = @{ $LIMIT{$name} || [] };
        if (!defined $number) { warn "Apache2::Resource: there is no limit $name; there are " . join(', ', sort keys %LIMIT) . "\n"; next }
        my ($soft, $hard) = split /[:,\/]/, $wanted{$name};
        $hard = $soft unless defined $hard;
        Mehari::limit($number, $soft * $unit, $hard * $unit) or warn "Apache2::Resource: cannot set $name to $wanted{$name}: $!\n";
        Mehari::log_line(5, "Apache2::Resource: $name is $soft:$hard") if $Debug;
    }
    return Apache2::Const::OK;
}

sub handler { return default_handler() }

1;

__END__

=head1 NAME

Apache2::Resource - resource limits of a worker

=head1 SYNOPSIS

    PerlSetEnv PERL_RLIMIT_DATA 256:384
    PerlSetEnv PERL_RLIMIT_CPU 120
    PerlChildInitHandler Apache2::Resource

=head1 DESCRIPTION

A variable PERL_RLIMIT_NAME sets the limit NAME: the soft limit, a colon and the hard limit. CPU is
in seconds. NPROC, NOFILE and OPEN_MAX are numbers. FSIZE, DATA, STACK, CORE, RSS, MEMLOCK, AS and
VMEM are in MiB.

If PERL_RLIMIT_DEFAULTS is set, the limits without a variable are CPU 360, DATA 32:64, AS 64:128,
CORE 0 and STACK 20:40. If PERL_RLIMIT_DEBUG is set, each limit is logged.

=head1 FUNCTIONS

=over 4

=item handler, default_handler

Set the limits of this process. Return OK. A limit that does not exist or cannot be set causes a
warning.

=back

=head1 DIFFERENCES

The numbers of limits are those of Linux. The module BSD::Resource is not needed. There is no status
page.

=head1 SEE ALSO

L<Apache2::SizeLimit>.

=cut
