package CHI::Driver::Mehari;

# Keeps CHI's caches in Mehari::Cache. All workers share these caches. A full cache drops its oldest
# entries.
#
#     my $cache = CHI->new(driver => 'Mehari', namespace => 'menus', folder => '/var/cache/site',
#     size => '256M');
#     my $cache = CHI->new(driver => 'Mehari', in => 'redis://127.0.0.1/1');
#
# `folder`, `size` and `in` are options of Mehari::Cache. Without any of them, the driver uses the
# user's cache in memory.

use strict;
use warnings;
use Moo;
use Mehari::Cache ();

extends 'CHI::Driver';

has [qw(folder size in)] => (is => 'ro');
has _entries             => (is => 'lazy', init_arg => undef);
has _namespaces          => (is => 'lazy', init_arg => undef);

# Seconds for which an expired entry is kept, because CHI can return expired entries.
use constant OUTLIVES => 3600;
use constant LONGEST  => 1e9;

sub _cache {
    my ($self, $name) = @_;
    my %option = map { defined $self->$_ ? ($_ => $self->$_) : () } qw(folder size in);
    return Mehari::Cache->new(%option, namespace => $name);
}

sub _build__entries    { my ($self) = @_; return $self->_cache("chi\0" . $self->namespace) }
sub _build__namespaces { my ($self) = @_; return $self->_cache('chi') }

sub fetch { my ($self, $key) = @_; return $self->_entries->get($key) }

sub store {
    my ($self, $key, $data, $expires_in) = @_;
    my $ttl = defined $expires_in ? $expires_in + OUTLIVES : LONGEST;
    $self->_namespaces->set($self->namespace, 1) unless $self->{_is_named}++;
    $self->_entries->set($key, $data, $ttl < LONGEST ? (ttl => $ttl) : ());
    return;
}

sub remove         { my ($self, $key) = @_; $self->_entries->remove($key); return }
sub clear          { my ($self) = @_; $self->_entries->clear; return }
sub get_keys       { my ($self) = @_; return $self->_entries->keys }
sub get_namespaces { my ($self) = @_; return $self->_namespaces->keys }

1;

__END__

=head1 NAME

CHI::Driver::Mehari - CHI's caches in Mehari::Cache

=head1 SYNOPSIS

    use CHI;
    my $cache = CHI->new(driver => 'Mehari', namespace => 'menus', size => '256M');
    my $shared = CHI->new(driver => 'Mehari', in => 'redis://127.0.0.1/1');
    $cache->set('main', { items => [1, 2] }, '10 minutes');

=head1 DESCRIPTION

The driver gives programs that use CHI a cache that all workers share. All methods are CHI's.

=head1 ATTRIBUTES

=over 4

=item folder, size, in

These options are passed to C<< Mehari::Cache->new >>. If none of them is given, the driver uses the
cache in memory that belongs to the user and the document root.

=back

=head1 LIMITS

An entry is kept for an hour after it has expired, because CHI can return expired entries. A full
cache may drop entries earlier.

=head1 SEE ALSO

L<Mehari::Cache>, L<CHI>.

=cut
