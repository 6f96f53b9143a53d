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
    my $child = eval { IPC::Open3::open3($in, $out, $error, @words) };
    return _of_nobody($self, $command, $@) unless $child;
    $self->pool->cleanup_register(sub { close $_ for $in, $out, $error; waitpid $child, 0 });
    return wantarray ? ($in, $out, $error) : $out;
}

# As under mod_perl, a program that cannot be started leaves handles that lead nowhere.
sub _of_nobody {
    my ($self, $command, $reason) = @_;
    $self->log_error("spawn_proc_prog: $command: " . ($reason =~ s/ at \S+ line \d+\.?\n\z//r));
    my @mine = map {
        pipe my $reader, my $writer or CORE::die "spawn_proc_prog: $!\n";
        $_ eq 'in' ? $writer : $reader;
    } qw(in out error);
    return wantarray ? @mine : $mine[1];
}

1;

__END__

=head1 NAME

Apache2::SubProcess - run a program with handles

=head1 SYNOPSIS

    use Apache2::SubProcess ();

    sub handler {
        my $r = shift;
        my ($in, $out, $error) = $r->spawn_proc_prog('/usr/bin/sort', ['-r']);
        print {$in} "a\nb\n";
        close $in;
        $r->print(<$out>);
        return 0;
    }

=head1 DESCRIPTION

Loading this module adds a method to L<Apache2::RequestRec>.

=head1 METHODS OF THE REQUEST

=over 4

=item spawn_proc_prog(PROGRAM, [ARGUMENTS])

Starts a program with an array reference of arguments and the environment of the request.
Returns handles to its input, output and errors; in scalar context its output. The handles are
closed and the process is awaited after the request. Dies if the program cannot be started.

=back

=head1 DIFFERENCES

Handles are perl's own pipes. Use IO::Select to read output and errors without a deadlock. The
error log names a program that cannot be started.

=head1 SEE ALSO

L<Apache2::RequestRec>, L<Apache::SubProcess>.

=cut
