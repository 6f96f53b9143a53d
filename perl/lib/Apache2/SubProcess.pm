package Apache2::SubProcess;

# $r->spawn_proc_prog($command, \@arguments): runs a program with handles on its input, output and
# errors.

use strict;
use warnings;
use Apache2::RequestRec ();
use IPC::Open3 ();

package Apache2::RequestRec;

use strict;
use warnings;
use Symbol ();

# The program gets the request's environment. In scalar context only the output handle is returned.
sub spawn_proc_prog {
    my ($self, $command, $arguments) = @_;
    my @words = ($command, @{ $arguments || [] });
    local %ENV = (%ENV, %{ $self->subprocess_env });
    my ($in, $out, $error) = (Symbol::gensym(), Symbol::gensym(), Symbol::gensym());
    my $child = IPC::Open3::open3($in, $out, $error, @words);
    $self->pool->cleanup_register(sub { close $_ for $in, $out, $error; waitpid $child, 0 });
    return wantarray ? ($in, $out, $error) : $out;
}

1;
