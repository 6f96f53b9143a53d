package Apache::ModuleConfig;

use strict;
use warnings;
use Apache ();
use Apache2::Module ();

# get($r or $server, $class) returns the object of a module's own directives.
sub get { my ($self, $of, $class) = @_; return Apache2::Module::get_config(defined $class ? $class : scalar caller, $of->can('server') ? $of->server : $of, $of->can('per_dir_config') ? $of->per_dir_config : ()) }

1;

__END__

=head1 NAME

Apache::ModuleConfig - the object of a module's own directives

=head1 SYNOPSIS

    use Apache::ModuleConfig ();

    sub handler { my $r = shift; my $own = Apache::ModuleConfig->get($r, 'My::Words'); return 0 }

=head1 DESCRIPTION

A module defines its directives with L<Apache2::Module>.

=head1 CLASS METHODS

=over 4

=item get(OF, [CLASS])

Returns the object of the class CLASS for a request or a server. CLASS defaults to the package of
the caller.

=back

=head1 DIFFERENCES

Directives are declared as in mod_perl 2.

=head1 SEE ALSO

L<Apache2::Module>.

=cut
