package Apache2::Log;

# Lines for the error log: `$r->log->warn(...)`, `$s->log_error(...)`, `Apache2::ServerRec->log_serror(...)`.

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
    *$name = sub { my $self = shift; Mehari::log_line($level, _text(@_)) if _is_wanted($self, $level); return };
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
    my (undef, undef, undef, $level, $status, @text) = @_;
    my $reason = $status ? '(' . ($status + 0) . ')' . APR::Error::strerror($status) . ': ' : '';
    Mehari::log_line($level & 7, $reason . _text(@text));
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
