package APR::Pool;

# Ends things together: when a pool ends, it calls the subs that were registered with it, the last
# registered first. A pool holds no memory, because perl manages the memory.

use strict;
use warnings;
use Carp ();
use Scalar::Util ();

# The parent of all pools, which never ends.
my $global;
sub _global { return $global ||= { cleanups => [], children => {}, is_global => 1 } }

# Makes a pool. The cleanups and children are in a hash, the "part". An object only refers to its
# part, and several objects may refer to one part. A child's object keeps its parent's object alive.
sub new {
    my ($self) = @_;
    my $parent = ref $self && !$$self->{ended} ? $self : undef;
    my $pool = _handle(_part($parent ? $$parent : _global()), 1);
    $$pool->{of} = $parent if $parent && $$parent->{owner};
    return $pool;
}

sub _part {
    my ($parent) = @_;
    my $part = { cleanups => [], children => {}, parent => $parent };
    if ($parent && !$parent->{is_global}) {
        _is_needed($parent) if $parent->{request};
        $parent->{children}{ 0 + $part } = $part;
        Scalar::Util::weaken($part->{parent});
    }
    return $part;
}

# Returns an object for a part. If the object owns the part, the pool ends when the object is
# destroyed. The pool of a request or a connection ends with the request or the connection.
sub _handle {
    my ($part, $owns) = @_;
    my $self = bless \$part, 'APR::Pool';
    $part->{owner} = Scalar::Util::refaddr($self) if $owns;
    return $self;
}

# Returns a pool that no object owns. Its user in the server ends it.
sub of_server { return _handle(_part(_global()), 0) }

# Returns the pool for $r->pool, which ends after the request. The pool registers with the request
# only when it gets a cleanup or a child, because most callers only pass the pool on.
sub of_request {
    my ($class, $r) = @_;
    my $part = { cleanups => [], children => {}, parent => _global(), request => $r };
    return bless \$part, 'APR::Pool';
}

sub _is_needed {
    my ($part) = @_;
    my $r = delete $part->{request} or return;
    my $pool = _handle($part, 0);
    $r->register_cleanup(sub { $pool->destroy });
    return;
}

sub _alive {
    my ($self, $function) = @_;
    my $part = ref $self && Scalar::Util::reftype($self) eq 'REF' ? $$self : undef;
    # The pool has not registered with its request, so the request may have ended unnoticed.
    $part->{ended} = 1 if $part && $part->{request} && !eval { $part->{request}->method; 1 };
    $part && !$part->{ended} or Carp::croak('invalid pool object (already destroyed?)');
    return $part;
}

# cleanup_register($code or name, $argument)
sub cleanup_register {
    my ($self, $code, @argument) = @_;
    my $part = _alive($self, 'cleanup_register');
    _is_needed($part) if $part->{request};
    push @{ $part->{cleanups} }, [$code, $argument[0], scalar caller];
    return;
}

sub cleanup_for_exec { return }

sub clear { _end(_alive($_[0], 'clear')); return }

# Does nothing for a pool that has ended, or for the parent of all pools.
sub destroy {
    my ($self) = @_;
    my $part = $$self;
    return if $part->{ended} || $part->{is_global};
    _end($part);
    $part->{ended} = 1;
    delete $part->{of};
    delete $part->{parent}{children}{ 0 + $part } if $part->{parent};
    return;
}

# Ends the children first, then runs the cleanups, the last registered first. If a cleanup dies, the
# other cleanups still run.
sub _end {
    my ($part) = @_;
    for my $child (values %{ delete $part->{children} || {} }) {
        _end($child);
        $child->{ended} = 1;
        delete $child->{of};
    }
    $part->{children} = {};
    while (my $cleanup = pop @{ $part->{cleanups} }) {
        my ($code, $argument, $package) = @$cleanup;
        local $@;
        eval { _code($code, $package)->($argument); 1 } or warn 'APR::Pool: cleanup died: ', $@;
    }
    return;
}

sub _code {
    my ($code, $package) = @_;
    return $code if ref $code;
    no strict 'refs';
    my $name = $code =~ /::/ ? $code : defined &{"${package}::$code"} ? "${package}::$code" : "main::$code";
    return \&$name;
}

sub parent_get {
    my $parent = _alive($_[0], 'parent_get')->{parent};
    return $parent && _handle($parent, 0);
}

sub is_ancestor {
    my ($self, $other) = @_;
    my $part = _alive($self, 'is_ancestor');
    for (my $at = _alive($other, 'is_ancestor'); $at; $at = $at->{parent}) { return 1 if $at == $part }
    return 0;
}

sub tag { my ($self, $tag) = @_; _alive($self, 'tag')->{tag} = $tag; return }

sub DESTROY {
    my ($self) = @_;
    my $part = $$self or return;
    return if $part->{ended} || !$part->{owner} || $part->{owner} != Scalar::Util::refaddr($self);
    # Only the owner ends the pool. A pool without an owner ends with its parent.
    $self->destroy;
    return;
}

1;

__END__

=head1 NAME

APR::Pool - lifetimes with cleanups

=head1 SYNOPSIS

    use APR::Pool ();
    my $pool = APR::Pool->new;
    $pool->cleanup_register(sub { print "over: $_[0]\n" }, 'work');
    undef $pool;    # prints

=head1 DESCRIPTION

A pool has a lifetime. When a pool ends, it calls the subs that were registered with it, the last
registered sub first. C<< $r->pool >> ends after the request. A pool that a program has made ends
when its object is destroyed.

=head1 METHODS

=over 4

=item new

Returns a new pool. If C<new> is called on a pool, the new pool is a child of this pool and ends
with it.

=item cleanup_register(CODE, [ARGUMENT])

Registers code, or the name of a sub, that is called with the argument.

=item clear

Ends the children and calls the cleanups. The pool itself does not end.

=item destroy

Ends the pool. A second call does nothing.

=item parent_get

Returns the parent pool, or undef.

=item is_ancestor(POOL)

Returns whether this pool is the other pool, or an ancestor of the other pool.

=item tag(TEXT)

Names the pool.

=item cleanup_for_exec

Does nothing.

=back

=head1 ERRORS

A method of a pool that has ended dies with C<invalid pool object>. If a cleanup dies, its message
becomes a warning, and the other cleanups still run.

=head1 DIFFERENCES

A pool holds no memory.

=head1 SEE ALSO

L<APR>, L<Apache2::RequestRec>.

=cut
