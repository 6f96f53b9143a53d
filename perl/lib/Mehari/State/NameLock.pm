package Mehari::State::NameLock;

# Is the lock of one process on a name of a store, usually the name of a hash. The lock is counted,
# and all objects of the process that use the name share it. The kernel releases the lock when the
# process ends. Mehari::State calls `held` before each operation.

use strict;
use warnings;
use Carp qw(confess);
use Scalar::Util qw(weaken);

use constant { STORE => 0, NAME => 1, COUNT => 2, KIND => 3, PROCESS => 4 };

my %locks;

sub of {
    my ($class, $store, $name) = @_;
    my $lock = $locks{ $store->id }{$name};
    return $lock if $lock;
    $lock = bless [$store, $name, 0, '', $$], $class;
    weaken($locks{ $store->id }{$name} = $lock);
    return $lock;
}

# Returns whether this process holds the lock. Dies if the process wants to write ('w') and holds
# the lock only for reading.
sub held {
    my ($self, $kind) = @_;
    return 0 unless $self->[COUNT];
    if ($self->[PROCESS] != $$) { # the parent process holds the lock, and this process does not
        @$self[COUNT, PROCESS] = (0, $$);
        return 0;
    }
    confess 'Mehari::State: the hash is locked for reading: take the lock for writing (Lock) before you write'
        if $kind eq 'w' && $self->[KIND] eq 'r';
    return 1;
}

sub take {
    my ($self, $kind) = @_;
    unless ($self->held($kind)) {
        $self->[STORE]->lock($self->[NAME], $kind);
        @$self[KIND, PROCESS] = ($kind, $$);
    }
    $self->[COUNT]++;
    return 1;
}

# Takes the lock without waiting. Returns false if another process holds it.
sub try {
    my ($self) = @_;
    unless ($self->held('w')) {
        return 0 unless $self->[STORE]->lock($self->[NAME], 'w', 0);
        @$self[KIND, PROCESS] = ('w', $$);
    }
    return ++$self->[COUNT];
}

sub give_back {
    my ($self) = @_;
    return 1 unless $self->held('r') && --$self->[COUNT] == 0;
    $self->[STORE]->lock($self->[NAME], 'u');
    return 1;
}

sub DESTROY {
    my ($self) = @_;
    my $store = $self->[STORE] or return; # perl is ending, and the store has been destroyed
    my $names = $locks{ $store->id } or return;
    delete $names->{ $self->[NAME] } unless $names->{ $self->[NAME] } && $names->{ $self->[NAME] } != $self;
    $self->[STORE]->lock($self->[NAME], 'u') if $self->[COUNT] && $self->[PROCESS] == $$;
}

1;

__END__

=head1 NAME

Mehari::State::NameLock - internal

=head1 DESCRIPTION

This module is internal to the server: it is the lock of a process on a name; see
L<Mehari::State>.

=cut
