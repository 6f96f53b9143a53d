package Apache::ModuleConfig;

use strict;
use warnings;
use Apache ();
use Apache2::Module ();

# get($r or $server, $class): the object of a module's own directives.
sub get { my ($self, $of, $class) = @_; return Apache2::Module::get_config(defined $class ? $class : scalar caller, $of->can('server') ? $of->server : $of, $of->can('per_dir_config') ? $of->per_dir_config : ()) }

1;
