package Apache2::SubProcess;

# Adds $r->spawn_proc_prog($command, \@arguments), which runs a program and returns handles to its
# input, output and errors.

use strict;
use warnings;
use Apache2::RequestRec ();
use IPC::Open3 ();

package Apache2::RequestRec;

use strict;
use warnings;
use Symbol ();

# Runs a program with the request's environment. Returns three handles, or only the output's handle
# in scalar context.
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

# Returns the handles for a program that cannot be started. As under mod_perl, they are the ends of
# pipes without a program at the other end.
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

Starts a program with the environment of the request. ARGUMENTS is an array reference. Returns
handles to the program's input, output and errors, or only to its output in scalar context. After
the request, the handles are closed and the server waits for the end of the program.

=back

=head1 DIFFERENCES

The handles are perl's own pipes. Use IO::Select to read output and errors without a deadlock. If
the program cannot be started, the error log says why, and the handles lead to no program.

=head1 SEE ALSO

L<Apache2::RequestRec>, L<Apache::SubProcess>.

=cut
