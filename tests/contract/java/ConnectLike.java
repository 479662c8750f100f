import java.lang.management.ManagementFactory;
import java.util.LinkedHashMap;
import java.util.Map;
import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.AttributeNotFoundException;
import javax.management.DynamicMBean;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * A JVM with MBeans like those of a Connect worker: every attribute is declared double whatever it holds, names are odd,
 * and one attribute's class is known to this program only (as connector-type is in Kafka 4.3.1 and later).
 * Prints "ready" and runs until its standard input ends.
 */
public final class ConnectLike {
    enum OnlyHere { SOURCE }

    record Bean(Map<String, Object> values) implements DynamicMBean {
        @Override
        public Object getAttribute(String name) throws AttributeNotFoundException {
            if (!values.containsKey(name)) {
                throw new AttributeNotFoundException(name);
            }
            Object value = values.get(name);
            if (value instanceof RuntimeException fault) {
                throw fault;
            }
            return value;
        }

        @Override
        public AttributeList getAttributes(String[] names) {
            AttributeList found = new AttributeList();
            for (String name : names) {
                Object value = values.get(name);
                if (values.containsKey(name) && !(value instanceof RuntimeException)) {
                    found.add(new Attribute(name, value));
                }
            }
            return found;
        }

        @Override
        public void setAttribute(Attribute attribute) { }

        @Override
        public AttributeList setAttributes(AttributeList attributes) {
            return new AttributeList();
        }

        @Override
        public Object invoke(String action, Object[] arguments, String[] signature) {
            return null;
        }

        @Override
        public MBeanInfo getMBeanInfo() {
            MBeanAttributeInfo[] infos = values.keySet().stream()
                .map(name -> new MBeanAttributeInfo(name, "double", "", true, false, false))
                .toArray(MBeanAttributeInfo[]::new);
            return new MBeanInfo("Bean", "", infos, null, null, null);
        }
    }

    private static final MBeanServer SERVER = ManagementFactory.getPlatformMBeanServer();

    private static void register(String name, Object... pairs) throws Exception {
        Map<String, Object> values = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            values.put((String) pairs[i], pairs[i + 1]);
        }
        SERVER.registerMBean(new Bean(values), new ObjectName(name));
    }

    public static void main(String[] connectors) throws Exception {
        register("kafka.connect:type=connect-worker-metrics", "connector-count", 2.0, "task-count", 3.0);
        register("kafka.connect:type=connect-worker-rebalance-metrics", "connect-protocol", "SESSIONED",
            "leader-name", "http://10.0.0.1:8083/", "epoch", 7.0, "rebalance-avg-time-ms", Double.NaN,
            "time-since-last-rebalance-ms", Double.POSITIVE_INFINITY, "rebalance-max-time-ms", 1500.0, "rebalancing", 0.0);
        register("kafka.connect:type=app-info,id=\"10.0.0.2:8083\"", "Version", "4.4.0", "StartTimeMs", 1800000000000L);
        // The client's, which looks like an address too from Kafka 3.7 on.
        register("kafka.connect:type=app-info,id=\"connect-10.0.0.2:8083\"", "Version", "4.4.0", "StartTimeMs", 1L);
        register("kafka.connect:type=connect-coordinator-metrics,client-id=\"connect-10.0.0.2:8083\"",
            "assigned-connectors", 2.0, "assigned-tasks", 3.0);
        register("kafka.connect:type=values", "double", 1.5, "long", 9007199254740991L, "integer", -3, "nan", Double.NaN,
            "infinity", Double.POSITIVE_INFINITY, "minus-infinity", Double.NEGATIVE_INFINITY, "null", null, "true", true,
            "text", "say \"hi\", \\ and } é日", "empty", "", "fault", new IllegalStateException("not now"),
            "only-here", OnlyHere.SOURCE);
        register("kafka.connect:type=lines", "text", "one\ntwo", "number", 1.0);
        for (String connector : connectors) {
            String quoted = connector.matches("[\\w%\\. \\t-]*") ? connector : ObjectName.quote(connector);
            register("kafka.connect:type=connector-metrics,connector=" + quoted, "status", "running",
                "connector-type", "source", "connector-class", "org.example.Say \"hi\" \\ there", "connector-version", null);
            register("kafka.connect:type=connector-task-metrics,connector=" + quoted + ",task=0", "status", "running",
                "running-ratio", 1.0, "connector-type", OnlyHere.SOURCE,
                "pause-ratio", new IllegalStateException("not now"), "batch-size-max", 12L);
        }
        System.out.println("ready");
        while (System.in.read() >= 0) { }
        System.exit(0);
    }
}
