# Runs CHI's own tests with CHI::Driver::Mehari.

package My::Driver;

use strict;
use warnings;
use Test::More;

BEGIN {
    plan skip_all => 'libchi-perl and its test modules are not installed'
        unless eval { require CHI; require CHI::t::Driver; 1 };
}

use File::Temp qw(tempdir);
use parent -norequire, 'CHI::t::Driver';

my $folder = tempdir(CLEANUP => 1);

sub testing_driver_class { return 'CHI::Driver::Mehari' }
sub new_cache_options { my ($self) = @_; return ($self->SUPER::new_cache_options, driver => '+CHI::Driver::Mehari', folder => $folder) }

package main;

My::Driver->runtests;
