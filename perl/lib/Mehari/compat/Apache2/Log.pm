package Apache2::Log;

# Lines for the error log: `$r->log->warn(...)`, `$s->log_error(...)`,
# `Apache2::ServerRec->log_serror(...)`.

use strict;
use warnings;
use Mehari ();
use Apache2::RequestRec ();
use Apache2::ServerRec ();
use APR::Error ();

my %LEVEL = (emerg => 0, alert => 1, crit => 2, error => 3, warn => 4, notice => 5, info => 6, debug => 7);

# A sub may supply the words of a line. It runs only if the line is written.
sub _text { return join '', map { ref $_ eq 'CODE' ? $_->() : defined $_ ? $_ : '' } @_ }

for my $name (keys %LEVEL) {
    my $level = $LEVEL{$name};
    no strict 'refs';
    *$name = sub { my $self = shift; Mehari::log_line($level, _place($level, caller) . _text(@_)) if _is_wanted($self, $level); return };
}

# A line of the level debug begins with the caller's file and line, as in Apache.
sub _place {
    my ($level, undef, $file, $line) = @_;
    return $level == 7 ? ($file =~ s{.*/}{}r) . "($line): " : '';
}

# Lines below the server's level are not even composed.
sub _is_wanted {
    my ($self, $level) = @_;
    my $server = ref $self && ref $$self ? $$self : return 1;
    $server = $server->server if $server->isa('Apache2::RequestRec');
    return $level <= ($server->{loglevel} // 7);
}

# The caller's file and line, with level and status, for log_rerror.
sub LOG_MARK { my (undef, $file, $line) = caller; return ($file, $line) }

@Apache2::Log::Request::ISA = @Apache2::Log::Server::ISA = ('Apache2::Log');

# log_rerror($file, $line, $level, $status, $text ...): adds the text of an APR status.
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

The lines of a request are marked with the request. C<< $r->log >> and C<< $s->log >> return an
object with a method per level.

=head1 METHODS

=over 4

=item emerg, alert, crit, error, warn, notice, info, debug

Each takes texts: C<< $r->log->warn(TEXTS) >>. They write a line at a level of the log. A code
reference among the texts is called, and its result is the text. It is not called if C<<
$s->loglevel >> was set below the level. They return nothing.

=item log_pid

Does nothing.

=back

=head1 FUNCTIONS

=over 4

=item LOG_MARK

The file and the line of the caller, for log_rerror and log_serror.

=back

=head1 METHODS OF THE REQUEST

=over 4

=item log

The object for lines of this request.

=item log_error(TEXTS), warn(TEXTS)

Write a line at the level error, or warn.

=item log_reason(REASON, [FILE])

Writes that the access to FILE, or to the path, failed.

=item log_rerror(FILE, LINE, LEVEL, STATUS, TEXTS)

Writes a line at a level; a STATUS other than 0 adds its number and text.

=back

=head1 METHODS OF THE SERVER

=over 4

=item log, log_error(TEXTS), warn(TEXTS), log_serror(FILE, LINE, LEVEL, STATUS, TEXTS)

The same for a server.

=back

=head1 DIFFERENCES

The log has the levels from error to debug: emerg, alert and crit are written as error. FILE and
LINE are not part of the line. The directive LogLevel decides what is written, but a code
reference is called whatever it says. The level is that of the server, not of the location.

=head1 SEE ALSO

L<Apache2::RequestRec>, L<Apache2::ServerRec>, F<docs/reference/logs.md>.

=cut
