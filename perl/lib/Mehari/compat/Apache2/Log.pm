package Apache2::Log;

# Writes lines to the error log: `$r->log->warn(...)`, `$s->log_error(...)`,
# `Apache2::ServerRec->log_serror(...)`.

use strict;
use warnings;
use Mehari ();
use Apache2::RequestRec ();
use Apache2::ServerRec ();
use APR::Error ();

my %LEVEL = (emerg => 0, alert => 1, crit => 2, error => 3, warn => 4, notice => 5, info => 6, debug => 7);

# Returns the text of a line. A sub among the words is called, and its result is the text.
sub _text { return join '', map { ref $_ eq 'CODE' ? $_->() : defined $_ ? $_ : '' } @_ }

for my $name (keys %LEVEL) {
    my $level = $LEVEL{$name};
    no strict 'refs';
    *$name = sub { my $self = shift; Mehari::log_line($level, _place($level, caller) . _text(@_)) if _is_wanted($self, $level); return };
}

# Returns the start of a line. As in Apache, a line at the level debug begins with the file and line
# of the caller.
sub _place {
    my ($level, undef, $file, $line) = @_;
    return $level == 7 ? ($file =~ s{.*/}{}r) . "($line): " : '';
}

# Returns whether the server's level allows a line. If not, the text of the line is not made.
sub _is_wanted {
    my ($self, $level) = @_;
    my $server = ref $self && ref $$self ? $$self : return 1;
    $server = $server->server if $server->isa('Apache2::RequestRec');
    return $level <= ($server->{loglevel} // 7);
}

# Returns the caller's file and line, as arguments for log_rerror.
sub LOG_MARK { my (undef, $file, $line) = caller; return ($file, $line) }

@Apache2::Log::Request::ISA = @Apache2::Log::Server::ISA = ('Apache2::Log');

# log_rerror($file, $line, $level, $status, $text ...) writes a line, and adds the text of an APR
# status.
sub _with_status {
    my (undef, $file, $line, $level, $status, @text) = @_;
    my $reason = $status ? '(' . ($status + 0) . ')' . APR::Error::strerror($status) . ': ' : '';
    Mehari::log_line($level & 7, _place($level & 7, undef, $file, $line) . $reason . _text(@text));
    return;
}

sub Apache2::RequestRec::log_rerror { return _with_status(@_) }
sub Apache2::ServerRec::log_serror  { return _with_status(@_) }

sub Apache2::RequestRec::log { return bless \(my $self = $_[0]), 'Apache2::Log::Request' }

sub Apache2::RequestRec::log_reason {
    my ($self, $reason, $file) = @_;
    $file = $self->uri unless defined $file;
    Mehari::log_line(3, "access to $file failed for " . $self->client_ip . ", reason: $reason");
    return;
}

sub Apache2::ServerRec::log { return bless \(my $self = $_[0]), 'Apache2::Log::Server' }

sub log_pid { return }

1;

__END__

=head1 NAME

Apache2::Log - lines for the error log

=head1 SYNOPSIS

    use Apache2::Log ();
    use Apache2::Const -compile => qw(LOG_WARNING);
    use APR::Const -compile => qw(SUCCESS);

    sub handler {
        my $r = shift;
        $r->log_error('something is wrong');
        $r->log->debug(sub { 'the headers: ' . $r->as_string });
        my @place = Apache2::Log::LOG_MARK();
        $r->log_rerror(@place, Apache2::Const::LOG_WARNING, APR::Const::SUCCESS, 'odd');
        return 0;
    }

=head1 DESCRIPTION

A line that a request writes names the request. C<< $r->log >> and C<< $s->log >> return an object
with a method for each level.

=head1 METHODS

=over 4

=item emerg, alert, crit, error, warn, notice, info, debug

Write a line at this level, and return nothing: C<< $r->log->warn(TEXTS) >>. A code reference among
the texts is called, and its result is the text. If C<< $s->loglevel >> was set so that the line is
not written, the code is not called.

=item log_pid

Does nothing.

=back

=head1 FUNCTIONS

=over 4

=item LOG_MARK

Returns the file and the line of the caller, as arguments for C<log_rerror> and C<log_serror>.

=back

=head1 METHODS OF THE REQUEST

=over 4

=item log

Returns the object for lines of this request.

=item log_error(TEXTS), warn(TEXTS)

Write a line at the level error or warn.

=item log_reason(REASON, [FILE])

Writes that the access to FILE failed, and why. FILE defaults to the path of the request.

=item log_rerror(FILE, LINE, LEVEL, STATUS, TEXTS)

Writes a line at a level. If STATUS is not 0, its number and its text are added.

=back

=head1 METHODS OF THE SERVER

=over 4

=item log, log_error(TEXTS), warn(TEXTS), log_serror(FILE, LINE, LEVEL, STATUS, TEXTS)

Do the same as the methods of the request, for a server.

=back

=head1 DIFFERENCES

The log has the levels from error to debug: emerg, alert and crit are written as error. FILE and
LINE are not part of the line. The directive LogLevel of the server decides which lines are written.
The LogLevel of a location has no effect. A code reference is called even if LogLevel suppresses the
line.

=head1 SEE ALSO

L<Apache2::RequestRec>, L<Apache2::ServerRec>, F<docs/reference/logs.md>.

=cut
