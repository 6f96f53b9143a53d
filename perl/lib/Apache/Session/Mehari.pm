package Apache::Session::Mehari;

# Sessions in Mehari::State: shared by all workers, in one file or in Redis, one process at a time for each session.
#
#     tie my %session, 'Apache::Session::Mehari', $id, { FileName => '/var/lib/site/sessions' };
#
# FileName names the hash as `tie` of Mehari::State takes it: a path, or redis://HOST/NUMBER/NAME.

use strict;
use warnings;
use parent 'Apache::Session';
use Apache::Session::Generate::MD5 ();
use Apache::Session::Lock::Mehari ();
use Apache::Session::Serialize::Storable ();
use Apache::Session::Store::Mehari ();

sub populate {
    my ($self) = @_;
    $self->{object_store} = Apache::Session::Store::Mehari->new($self);
    $self->{lock_manager} = Apache::Session::Lock::Mehari->new($self);
    $self->{generate}     = \&Apache::Session::Generate::MD5::generate;
    $self->{validate}     = \&Apache::Session::Generate::MD5::validate;
    $self->{serialize}    = \&Apache::Session::Serialize::Storable::serialize;
    $self->{unserialize}  = \&Apache::Session::Serialize::Storable::unserialize;
    return $self;
}

1;
