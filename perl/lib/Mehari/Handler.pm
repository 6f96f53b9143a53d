package Mehari::Handler;

# Finds the code a `PerlResponseHandler` names: `My::Module`, `My::Module::sub`, `My::Module->method`.

use strict;
use warnings;
use APR::Table ();
use Apache2::RequestRec ();

# Answers [code] or [code, class]; dies with a message that names the module and Perl's reason.
sub resolve {
    my ($name) = @_;
    if ($name =~ /\A([\w:]+)->(\w+)\z/) {
        my ($class, $method) = ($1, $2);
        _load($class);
        my $code = $class->can($method) or die "handler `$name`: class $class has no method `$method`\n";
        return [$code, $class];
    }
    $name =~ /\A\w+(?:::\w+)*\z/ or die "handler `$name` is no module, sub or Class->method\n";
    no strict 'refs';
    return [\&{"${name}::handler"}] if defined &{"${name}::handler"};
    return [\&$name] if defined &$name;
    my ($module) = $name =~ /\A(.*)::\w+\z/;
    my $loaded = eval { _load($name); 1 };
    my $reason = $@;
    if (!$loaded && $module && eval { _load($module); 1 } && defined &$name) {
        return [\&$name];
    }
    die $reason unless $loaded;
    defined &{"${name}::handler"} or die "handler `$name`: the module loads but defines no sub `handler`\n";
    my $code = \&{"${name}::handler"};
    return [$code];
}

sub _load {
    my ($module) = @_;
    return if $module->can('handler') || $module->can('new');
    my $path = ($module =~ s{::}{/}gr) . '.pm';
    return if $INC{$path};
    eval { require $path; 1 } or die "handler module $module cannot be loaded: $@";
}

1;
