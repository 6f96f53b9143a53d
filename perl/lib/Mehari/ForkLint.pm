package Mehari::ForkLint;

# Fork-lint: finds what the zygote has and should not have when it forks its first worker: sockets,
# event loops, database handles, threads, timers and child processes. All workers would share a
# connection, and threads, timers and children stay behind in the zygote.

use strict;
use warnings;

# Where each descriptor of a socket was opened, the innermost place first: `FILE:LINE` lines, kept
# by operators.c.
our %place;

# What was being loaded when a socket or a database handle was first seen.
my (%loading, %known);

# Notes after each preload which handles it has left open. They may come from a library of C, whose
# calls operators.c does not see.
sub loaded {
    my ($name) = @_;
    for my $key ((map { "fd $_->{file} $_->{link}" } _connections()), (map { "dbi $_->{id}" } _databases())) {
        $loading{$key} = $name unless $known{$key}++;
    }
    return;
}

# Returns one line for each finding. `@own` are the descriptors of the server itself.
sub look {
    my (@own) = @_;
    my %own = map { $_ => 1 } @own;
    my @found;
    for my $open (grep { !$own{$_->{file}} } _connections()) {
        my $at = _first_foreign_place($place{$open->{file}}) // _while($loading{"fd $open->{file} $open->{link}"});
        push @found, "$open->{what}$at; every worker would share it";
    }
    push @found, map { "a database handle ($_->{name})" . _while($loading{"dbi $_->{id}"}) . '; every worker would share it' } _databases();
    my @tasks = glob '/proc/self/task/*';
    push @found, $#tasks . ' more thread' . ($#tasks > 1 ? 's' : '') . '; no worker would have it' if $#tasks > 0;
    push @found, map { "$_; no worker would have it" } _timers(), _children();
    return @found;
}

# The open sockets and event loops.
sub _connections {
    my @found;
    opendir my $folder, '/proc/self/fd' or return;
    # The match takes away the taint of a number that comes from the kernel.
    for my $file (sort { $a <=> $b } grep { $_ > 2 } map { /\A(\d+)\z/ } readdir $folder) {
        my $link = readlink "/proc/self/fd/$file" // next;
        my $what
            = $link =~ /\Asocket:/              ? _socket($file)
            : $link =~ /\Aanon_inode:\[eventpoll\]/ ? 'the descriptor of an event loop'
            : $link =~ /\Aanon_inode:\[timerfd\]/   ? 'the descriptor of a timer'
            :                                     next;
        push @found, {file => $file, link => $link, what => $what};
    }
    return @found;
}

sub _socket {
    my ($file) = @_;
    require Socket;
    open my $copy, '+<&', $file or return 'a socket';
    my $peer = getpeername $copy;
    return 'a socket to ' . _address($peer) if $peer;
    my $listens = getsockopt $copy, Socket::SOL_SOCKET(), Socket::SO_ACCEPTCONN();
    my $own     = getsockname $copy;
    return 'a socket' . ($own ? ' at ' . _address($own) : '') unless $listens && unpack 'i', $listens;
    return 'a listening socket at ' . _address($own);
}

sub _address {
    my ($address) = @_;
    my $family = Socket::sockaddr_family($address);
    if ($family == Socket::AF_UNIX()) {
        my $path = eval { Socket::unpack_sockaddr_un($address) } // '';
        return $path =~ /\A\0?([^\0]+)/ ? $1 : 'a process on this machine';
    }
    my ($port, $host)
        = $family == Socket::AF_INET()  ? Socket::unpack_sockaddr_in($address)
        : $family == Socket::AF_INET6() ? Socket::unpack_sockaddr_in6($address)
        :                                 return "an address of family $family";
    my $text = Socket::inet_ntop($family, $host);
    return $family == Socket::AF_INET6() ? "[$text]:$port" : "$text:$port";
}

# The connected handles of DBI.
sub _databases {
    return unless $INC{'DBI.pm'} && DBI->can('installed_drivers');
    my %drivers = DBI->installed_drivers;
    my @found;
    for my $driver (values %drivers) {
        for my $handle (grep { defined && $_->{Type} eq 'db' && $_->{Active} } @{ $driver->{ChildHandles} || [] }) {
            push @found, {name => 'dbi:' . ($driver->{Name} // '') . ':' . ($handle->{Name} // ''), id => 0 + tied(%$handle)};
        }
    }
    return @found;
}

sub _timers {
    my @found;
    my $left = alarm 0;
    if ($left) { alarm $left; push @found, "an alarm that rings in $left s" }
    if (open my $in, '<', '/proc/self/timers') {
        my $count = grep { /\AID:/ } <$in>;
        push @found, "$count timer" . ($count > 1 ? 's' : '') if $count;
    }
    return @found;
}

sub _children {
    open my $in, '<', "/proc/self/task/$$/children" or return;
    my @found;
    for my $child ((<$in> // '') =~ /(\d+)/g) {
        my $name = do { open my $file, '<', "/proc/$child/comm" or next; <$file> } // '';
        chomp $name;
        next if $name eq 'mehari-stem';    # the server's own
        push @found, "the child process $child ($name)";
    }
    return @found;
}

# Returns the place in the site's code: the first one that is not in perl's own folders.
sub _first_foreign_place {
    my ($places) = @_;
    my @places = split /\n/, $places // return;
    my ($site) = grep { !Mehari::Zygote::is_standard(s/:\d+\z//r) } @places;
    my ($file, $line) = ($site // $places[0]) =~ /\A(.*):(\d+)\z/s or return;
    return ", opened at $file line $line";
}

sub _while { my ($name) = @_; return defined $name ? ", opened while $name was loaded" : '' }

1;

__END__

=head1 NAME

Mehari::ForkLint - internal

=head1 DESCRIPTION

This module is internal to the server. It finds sockets, database handles, threads, timers and child
processes in the process that is about to fork the workers. The directive PerlForkLint says what
happens if there are any.

=cut
