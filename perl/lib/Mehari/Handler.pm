package Mehari::Handler;

# Finds the code of a handler by its name in the configuration: `My::Module`, `My::Module::sub`,
# `My::Module->method`, `$My::object->method`, `sub { ... }`.

use strict;
use warnings;
use APR::Table ();
use Apache2::RequestRec ();

# Returns [code] or [code, invocant] for a handler's name. The name `&SERVER:PHASE:N` stands for a
# code reference that start-up code has pushed as a handler. Dies with a message that names the
# module and Perl's reason.
sub resolve {
    my ($name) = @_;
    return [Mehari::Server::handlers($1, $2)->[$3]] if $name =~ /\A&(\d+):(\w+):(\d+)\z/;
    return _anonymous($name) if $name =~ /\Asub\s*[{(:]/;
    (my $plain = $name) =~ s/\A[+-]//;
    return _object($1, $2) if $plain =~ /\A\$([\w:]+)->(\w+)\z/;
    return _method($1, $2) if $plain =~ /\A([\w:]+)->(\w+)\z/;
    $plain =~ /\A\w+(?:::\w+)*\z/ or die "handler `$name` is no module, sub, Class->method or `sub { ... }`\n";
    return _sub($plain);
}

# Returns the code of a handler, and the invocant if there is one. The handler is a name or code.
sub called { my ($handler) = @_; return ref $handler ? $handler : @{ resolve($handler) } }

# Runs a handler that belongs to a server and not to a request, for the server with this number.
# Returns undef, or the reason why the server must not start. The result of a PerlChildInitHandler
# or PerlChildExitHandler does not matter, unless the handler dies.
sub run_for_server {
    my ($phase, $number, $handler) = @_;
    my $named = ref $handler ? 'a sub' : "`$handler`";
    my ($code, @invocant) = eval { called($handler) } or return "$phase $named: $@";
    # Start-up code tests these variables before it uses the API.
    local @ENV{qw(MOD_PERL MOD_PERL_API_VERSION)} = ('mod_perl/2.0.12', 2);
    my $answer = eval { $code->(@invocant, _server_arguments($phase, $number)) };
    return "$phase $named: $@" if $@;
    no warnings 'numeric';
    return undef if $phase =~ /\APerlChild/ || int($answer // 0) == 0;
    return "$phase $named answered $answer; expected 0 (Apache2::Const::OK)";
}

# Returns the arguments that mod_perl passes in this phase: pools, then the server.
sub _server_arguments {
    my ($phase, $number) = @_;
    my $server = eval { require Apache2::ServerUtil; Apache2::ServerRec->of_number($number) };
    my $pool = sub { eval { require APR::Pool; APR::Pool->new } };
    return ($pool->(), $server) if $phase =~ /\APerlChild/;
    return ($pool->(), $pool->(), $pool->(), $server);
}

sub _anonymous {
    my ($text) = @_;
    my $code = eval "package main; no strict; no warnings; $text";
    ref $code eq 'CODE' or die "handler `$text` does not compile: $@";
    return [$code];
}

sub _object {
    my ($variable, $method) = @_;
    no strict 'refs';
    my $object = $$variable;
    if (!ref $object && (my ($module) = $variable =~ /\A(.+)::\w+\z/)) {
        _load($module);
        $object = $$variable;
    }
    ref $object or die "handler `\$$variable->$method`: \$$variable holds no object\n";
    my $code = $object->can($method) or die 'handler: class ' . ref($object) . " has no method `$method`\n";
    return [$code, $object];
}

sub _method {
    my ($class, $method) = @_;
    _load($class) unless $class->can($method);
    my $code = $class->can($method) or die "handler `$class->$method`: class $class has no method `$method`\n";
    return [$code, $class];
}

# Returns [code] for a sub. A sub with the attribute `method` is called as a method, so its class
# is added: [code, class].
sub _sub {
    my ($name) = @_;
    my ($package, $code) = _find($name);
    require attributes;
    return [$code, $package] if grep { $_ eq 'method' } attributes::get($code);
    return [$code];
}

sub _find {
    my ($name) = @_;
    my ($module) = $name =~ /\A(.*)::\w+\z/;
    no strict 'refs';
    return ($name, \&{"${name}::handler"}) if defined &{"${name}::handler"};
    return ($module || 'main', \&$name) if defined &$name;
    if (!eval { _load($name); 1 }) {
        my $reason = $@;
        die $reason unless $module;
        return ($module, \&$name) if eval { _load($module); 1 } && defined &$name;
        die _blame($name, $module, $reason, $@);
    }
    my $inherited = $name->can('handler') or die "handler `$name`: the module loads but defines no sub `handler`\n";
    return ($name, $inherited);
}

# Returns the reason why a handler was not found, although both readings of its name were tried: as
# a module, and as a sub of the parent module. If the parent's file exists, the reason is the
# parent's.
sub _blame {
    my ($name, $module, $of_name, $of_module) = @_;
    my ($file) = map { s{::}{/}gr . '.pm' } $module;
    return "handler `$name`: the module $module loads but defines no sub `" . ($name =~ s/.*:://r) . "`\n" if !$of_module;
    return $of_module =~ /: Can't locate \Q$file\E / ? $of_name : $of_module;
}

sub _load {
    my ($module) = @_;
    my $path = ($module =~ s{::}{/}gr) . '.pm';
    return if $INC{$path};
    return if $module->can('handler') || $module->can('new');
    # If an earlier attempt to load the module failed, only a new attempt gives the reason.
    delete $INC{$path};
    eval { require $path; 1 } or die "handler module $module cannot be loaded: " . ($@ =~ s{ at \S*/Mehari/Handler\.pm line \d+\.\n\z}{\n}r);
}

1;

__END__

=head1 NAME

Mehari::Handler - internal

=head1 DESCRIPTION

This module is internal to the server: it finds the code of a handler by its name.

=cut
