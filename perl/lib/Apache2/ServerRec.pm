package Apache2::ServerRec;

# A server, or a virtual host of it: what the configuration says of it.

use strict;
use warnings;
use Mehari ();

my $main;

# The main server. `%of`: what is known of it.
sub main { my ($class) = @_; return $main ||= bless { is_virtual => 0 }, $class }

# For $r->server.
sub of_request {
    my ($class, $r) = @_;
    my $port = ($r->_addresses)[3];
    my $name = $r->_setting('server_name') // $r->_server_name;
    my $key  = "$name:$port";
    return main($class)->{hosts}{$key} ||= bless {
        server_hostname => $name, port => $port,
        is_virtual => $r->_setting('virtual') ? 1 : 0,
        server_admin => $r->_setting('server_admin'), error_fname => $r->_setting('error_log'),
        document_root => $r->document_root,
    }, $class;
}

# Texts and numbers that a setter may change for this worker.
my %DEFAULT = (
    server_admin => '[no address given]', server_hostname => undef, port => 0, is_virtual => 0, error_fname => undef, path => undef,
    timeout => 60, keep_alive => 1, keep_alive_max => 100, keep_alive_timeout => 5,
    limit_req_line => 8190, limit_req_fieldsize => 8190, limit_req_fields => 100, loglevel => 4, server_scheme => '',
);

for my $name (keys %DEFAULT) {
    no strict 'refs';
    *$name = sub {
        my $self = shift;
        my $old  = $self->{$name} // $DEFAULT{$name};
        $self->{$name} = $_[0] if @_;
        return $old;
    };
}

sub names      { return [] }
sub wild_names { return [] }
sub addrs      { return [] }

# What Apache's modules in C keep for a server.
sub module_config   { return undef }
sub lookup_defaults { return undef }
sub context         { return 0 }

sub next { return undef }

sub process { require Apache2::Process; my ($self) = @_; return $self->{process} ||= Apache2::Process->new }

# mod_perl 1's.
sub uid { return $> }
sub gid { return 0 + $) }

sub log_error { shift if ref $_[0]; Mehari::log_line(3, join '', map { defined $_ ? $_ : '' } @_); return }
sub warn      { shift if ref $_[0]; Mehari::log_line(4, join '', map { defined $_ ? $_ : '' } @_); return }

1;
